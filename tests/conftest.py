"""For all tests."""

import signal

# Where tests run in the background, SIGINT is ignored, and whatever they start would inherit that:
# a Ctrl-C sent to it would be lost. Handlers are not inherited, only being ignored is.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
