"""/v1/audio/speech, as OpenAI's clients know it (pc-014, 024, 026, 034, 035, 038, 039)."""

import base64
import io
import json
import wave
from typing import Any

import av
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.live import LiveServer
from tests.support.sounds import pitch_hz
from tests.support.tone_listener import listen, listen_s16

TEXT = "One two three. Four five six. Seven eight nine."
SAID = TEXT.replace(" ", "")
MAGIC = {
    "mp3": ("audio/mpeg", b"\xff"),
    "opus": ("audio/ogg", b"OggS"),
    "aac": ("audio/aac", b"\xff\xf1"),
    "flac": ("audio/flac", b"fLaC"),
    "wav": ("audio/wav", b"RIFF"),
    "pcm": ("audio/pcm", b""),
}


def speech(http: httpx.Client, **fields: object) -> httpx.Response:
    return http.post("/v1/audio/speech", json={"model": "tone", "input": TEXT, **fields})


def samples_of(file: bytes) -> tuple[NDArray[np.float64], int]:
    """Decode a whole file in one session: mono samples [N] and their rate in Hz."""
    with av.open(io.BytesIO(file), "r") as container:
        [stream] = container.streams.audio
        rate = int(stream.rate)
        resampler = av.AudioResampler(format="flt", layout="mono", rate=rate)
        frames = [f for frame in container.decode(stream) for f in resampler.resample(frame)]
        frames += resampler.resample(None)
    return np.concatenate([f.to_ndarray()[0] for f in frames]).astype(np.float64), rate


def partials_hz(samples: NDArray[np.int16]) -> list[float]:
    """The tones of a chord in samples [N] at 24 kHz: all a third as strong as the loudest."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    loud = np.flatnonzero(spectrum > spectrum.max() / 3)
    return [float(index) * 24_000 / len(samples) for index in loud]


def message_of(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    return str(error["message"])


@pytest.mark.parametrize("value", ["", " \n", None, ["a"], 5, {}])
def test_an_input_that_is_no_text_is_refused_by_name(value: object, http: httpx.Client) -> None:
    answer = speech(http, input=value)
    assert answer.status_code == 400
    assert "'input'" in message_of(answer)
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert answer.json()["error"]["param"] == "input"
    assert speech(http).status_code == 200


def test_a_missing_input_is_refused_by_name(http: httpx.Client) -> None:
    answer = http.post("/v1/audio/speech", json={"model": "tone", "voice": "default"})
    assert answer.status_code == 400
    assert "'input'" in message_of(answer)


@pytest.mark.parametrize("voice", ["no-such-voice", "Google UK Female", "\u8641\u6df0", "", 5, {}])
@pytest.mark.parametrize("model", ["tone", "hibari"])
def test_an_unknown_voice_is_refused_with_the_known_ones(
    voice: object, model: str, http: httpx.Client
) -> None:
    answer = speech(http, model=model, voice=voice)
    assert answer.status_code == 400
    listed = http.get("/v1/audio/voices", params={"model": model}).json()["voices"]
    message = message_of(answer)
    assert "voice" in message
    assert all(entry["id"] in message for entry in listed) or "/v1/audio/voices" in message


def test_voices_are_listed_and_each_is_taken(http: httpx.Client) -> None:
    for entry in http.get("/v1/audio/voices").json()["voices"]:
        assert entry.keys() == {"id", "name", "model", "language"}
    [entry] = http.get("/v1/audio/voices?model=tone").json()["voices"]
    assert speech(http, voice=entry["id"]).status_code == 200
    assert speech(http, voice={"id": entry["id"]}).status_code == 200


@pytest.mark.parametrize("voice", ["default", "alloy", "verse", None])
def test_voices_of_openai_mean_the_default_one(voice: object, http: httpx.Client) -> None:
    assert speech(http, voice=voice).content == speech(http, voice="tone").content


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'"x"'])
def test_a_body_that_is_no_object_is_refused(body: bytes, http: httpx.Client) -> None:
    answer = http.post("/v1/audio/speech", content=body)
    assert answer.status_code == 400
    assert message_of(answer)


@pytest.mark.parametrize(
    ("field", "value"), [("instructions", 5), ("model", 5), ("model", "../x"), ("options", "x")]
)
def test_a_field_of_a_wrong_type_is_refused_by_name(
    field: str, value: object, http: httpx.Client
) -> None:
    answer = speech(http, **{field: value})
    assert answer.status_code == 400
    assert field in message_of(answer) or answer.json()["error"]["param"] == field


def test_an_unknown_model_is_a_404(http: httpx.Client) -> None:
    answer = speech(http, model="nope")
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("not_found_error", "model_not_found")


def test_models_of_openai_and_no_model_mean_the_default_one(live: LiveServer) -> None:
    with httpx.Client(base_url=live.url, timeout=60) as http:
        http.request("DELETE", "/api/delete", json={"model": "hibari"})
        assert http.post("/api/copy", json={"source": "tone", "destination": "hibari"}).is_success
        for model in ("tts-1", "gpt-4o-mini-tts", None, ""):
            assert speech(http, model=model).status_code == 200


@pytest.mark.parametrize("audio_format", MAGIC)
def test_label_and_bytes_agree_with_the_format(audio_format: str, http: httpx.Client) -> None:
    answer = speech(http, response_format=audio_format)
    media_type, magic = MAGIC[audio_format]
    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    assert answer.content.startswith(magic)


def test_without_a_format_it_is_mp3(http: httpx.Client) -> None:
    assert speech(http).headers["content-type"] == "audio/mpeg"
    assert speech(http).content == speech(http, response_format="mp3").content


@pytest.mark.parametrize("value", ["xyz", 5, ""])
def test_an_unknown_format_is_refused_with_the_known_ones(
    value: object, http: httpx.Client
) -> None:
    answer = speech(http, response_format=value)
    assert answer.status_code == 400
    assert all(name in message_of(answer) for name in MAGIC)
    assert answer.json()["error"]["param"] == "response_format"


def test_pcm_is_24_khz_whatever_the_voice(http: httpx.Client) -> None:
    answer = speech(http, response_format="pcm")
    assert listen_s16(answer.content, 24_000).replace(" ", "") == SAID


@pytest.mark.parametrize("audio_format", ["mp3", "opus", "flac", "aac"])
@pytest.mark.parametrize("stream", [True, False])
def test_one_decoder_session_reads_a_compressed_file_to_its_end(
    audio_format: str, stream: bool, http: httpx.Client
) -> None:
    pcm = np.frombuffer(speech(http, response_format="pcm").content, "<i2")
    file = speech(http, response_format=audio_format, stream=stream).content
    samples, rate_hz = samples_of(file)
    if audio_format == "aac":  # ADTS cannot tell its first frame's delay; short sounds blur
        assert len(samples) / rate_hz == pytest.approx(len(pcm) / 24_000, abs=0.09)
        assert listen(samples, rate_hz).endswith("nine.")
        return
    assert len(samples) / rate_hz == pytest.approx(len(pcm) / 24_000, abs=0.03)
    assert listen(samples, rate_hz).replace(" ", "") == SAID


def test_a_whole_wav_has_its_true_sizes_and_a_streamed_one_open_ones(http: httpx.Client) -> None:
    whole = speech(http, response_format="wav", stream=False)
    file = whole.content
    assert int(whole.headers["content-length"]) == len(file)
    assert int.from_bytes(file[4:8], "little") == len(file) - 8
    with wave.open(io.BytesIO(file)) as read:
        assert read.getnframes() * 2 == len(file) - 44
    streamed = speech(http, response_format="wav", stream=True).content
    assert streamed.count(b"RIFF") == 1
    assert streamed[4:8] == streamed[40:44] == b"\xff\xff\xff\xff"
    assert streamed[44:] == file[44:]


def test_all_paths_give_the_same_samples(http: httpx.Client) -> None:
    pcm = speech(http, response_format="pcm").content
    wav = speech(http, response_format="wav").content
    lines = http.post("/api/generate", json={"model": "tone", "prompt": TEXT, "stream": False})
    assert wav[44:] == pcm
    assert base64.b64decode(lines.json()["response"])[44:] == pcm


def test_sound_beyond_full_scale_saturates_and_never_wraps_around(http: httpx.Client) -> None:
    loud = speech(http, response_format="pcm", options={"gain_db": 24}).content
    samples = np.frombuffer(loud, "<i2").astype(int)
    assert samples.max() == 32767
    assert samples.min() <= -32767
    soft = np.frombuffer(speech(http, response_format="pcm").content, "<i2").astype(int)
    assert np.all(np.sign(samples[np.abs(soft) > 10]) == np.sign(soft[np.abs(soft) > 10]))


@pytest.mark.parametrize("value", [0, -1, 5, 4.01, 0.24, "fast", True, [], "1.0"])
def test_a_speed_out_of_bounds_is_refused_by_name(value: object, http: httpx.Client) -> None:
    answer = speech(http, speed=value)
    assert answer.status_code == 400
    assert "'speed'" in message_of(answer)
    assert answer.json()["error"]["param"] == "speed"


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_speed_changes_the_length_and_not_the_pitch(speed: float, http: httpx.Client) -> None:
    text = "a" * 60
    plain = np.frombuffer(speech(http, input=text, response_format="pcm").content, "<i2")
    changed = speech(http, input=text, response_format="pcm", speed=speed).content
    samples = np.frombuffer(changed, "<i2")
    assert len(samples) == pytest.approx(len(plain) / speed, rel=0.15)
    strongest_hz = pitch_hz(samples, 24_000)
    assert any(hz == pytest.approx(strongest_hz, rel=0.01) for hz in partials_hz(plain))


def test_a_null_speed_is_one(http: httpx.Client) -> None:
    assert speech(http, speed=None).content == speech(http, speed=1).content


def test_options_may_stand_beside_the_fields(http: httpx.Client) -> None:
    inside = speech(http, response_format="pcm", options={"gain_db": -6})
    beside = speech(http, response_format="pcm", gain_db=-6)
    assert inside.content == beside.content != speech(http, response_format="pcm").content
    assert speech(http, seed="x").status_code == 400


def test_server_sent_events(http: httpx.Client) -> None:
    answer = speech(http, response_format="pcm", stream_format="sse")
    assert answer.headers["content-type"] == "text/event-stream"
    frames = answer.text.removesuffix("\n\n").split("\n\n")
    events: list[dict[str, Any]] = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    *deltas, done = events
    assert {event["type"] for event in deltas} == {"speech.audio.delta"}
    sound = b"".join(base64.b64decode(event["audio"]) for event in deltas)
    assert sound == speech(http, response_format="pcm").content
    assert done["type"] == "speech.audio.done"
    usage = done["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


def test_an_unknown_stream_format_is_refused(http: httpx.Client) -> None:
    assert speech(http, stream_format="json").json()["error"]["param"] == "stream_format"


def test_models_and_audio_models(http: httpx.Client) -> None:
    listed = http.get("/v1/models")
    assert listed.headers["content-type"] == "application/json"
    ids = {entry["id"] for entry in listed.json()["data"]}
    assert {"tone:latest", "hibari:latest"} <= ids
    assert {entry["id"] for entry in http.get("/v1/audio/models").json()["models"]} == ids
    assert http.get("/v1/models/TONE").json()["id"] == "TONE"
    answer = http.get("/v1/models/some/where/else")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_chat_completions_are_refused_with_the_way_to_go(http: httpx.Client) -> None:
    body = {"model": "tone", "messages": [{"role": "user", "content": "Hi."}]}
    answer = http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert "/v1/audio/speech" in message_of(answer)


def test_a_request_counts_once(live: LiveServer) -> None:
    with httpx.Client(base_url=live.url, timeout=60) as http:
        speech(http)
        speech(http, input="")
        speech(http, voice="nobody")
    name = "ollama_tts_requests_total"
    assert live.metric(name, surface="openai", outcome="ok") == 1
    assert live.metric(name, surface="openai", outcome="client_error") == 2
