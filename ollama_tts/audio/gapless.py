"""The frame before a streamed MP3 that tells a player how much of its start is the encoder's delay.

Without it a player cannot know, and each stream begins with 1105 samples of silence. Layout of the
"Info" frame: the Xing header and LAME's extension of it, as FFmpeg's mp3 demuxer reads them
(http://gabriel.mp3-tech.org/mp3infotag.html). A stream's length is not known yet: no count of
frames, no padding at the end, and for its bytes the most there can be, as FFmpeg takes a frame
without any count for sound.
"""

import struct
from typing import Final

ENCODER_DELAY: Final = 576
"""LAME's, in samples; players add the decoder's own 529."""
_MPEG1 = 0x08  # in the header's second byte; clear for the lower sample rates of MPEG 2 and 2.5
_PADDED = 0x02  # in its third byte
_BYTES = 0x02  # the flag of a count of bytes
_ENDLESS = 0x7FFFFFFF


def info_frame(header: bytes, bit_rate: int, sample_rate_hz: int) -> bytes:
    """A silent frame with the delay, to go before the frame that begins with `header`.

    `header` is the four bytes of a mono frame; `bit_rate` in bits a second.
    """
    first_rate = bool(header[1] & _MPEG1)
    size_bytes = (144 if first_rate else 72) * bit_rate // sample_rate_hz
    head = bytes((header[0], header[1], header[2] & ~_PADDED, header[3]))
    side_bytes = 17 if first_rate else 9
    tag = b"Info" + struct.pack(">II9s12x", _BYTES, _ENDLESS, b"Lavc")
    frame = head + bytes(side_bytes) + tag + (ENCODER_DELAY << 12).to_bytes(3, "big")
    return frame.ljust(size_bytes, b"\0")
