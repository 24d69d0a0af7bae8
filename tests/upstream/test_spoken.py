"""What a language model answers, spoken while it is written. The voice `tone` proves the words."""

import base64
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import ollama
import pytest

from tests.support.live import LiveServer, serving, settings_for
from tests.support.tone_listener import listen_s16
from tests.support.upstream import (
    Cut,
    ErrorLine,
    FakeOllama,
    Step,
    Thought,
    Wait,
)
from tests.support.wire import Wire, lines_of, wire
from tests.upstream.conftest import make_talker

LLM = "qwen3:latest"
ANSWER = "Good morning to you. It is half past nine, and the sun is out. Shall we go?"
TOKENS = [ANSWER[at : at + 3] for at in range(0, len(ANSWER), 3)]


@pytest.fixture(autouse=True)
def talker(front: LiveServer, behind: FakeOllama) -> None:
    """A model of ours whose words are a language model's."""
    behind.models[LLM] = TOKENS
    make_talker(front)


def heard(text: str | None) -> str:
    assert text is not None
    return listen_s16(base64.b64decode(text)[44:], 24_000).replace(" ", "")


def without_spaces(text: str) -> str:
    return text.replace(" ", "")


def idle(front: LiveServer) -> None:
    front.until(lambda node: node.scheduler.active == 0 and node.scheduler.queue_depth == 0)


def counted(front: LiveServer, outcome: str, surface: str = "generate") -> float:
    return front.metric("ollama_tts_requests_total", surface=surface, outcome=outcome)


def test_a_prompt_is_answered_in_sound_and_text(client: ollama.Client, behind: FakeOllama) -> None:
    parts = list(client.generate("talker", "What time is it?", stream=True))
    assert heard("".join(part.response or "" for part in parts)) == without_spaces(ANSWER)
    assert "".join(part.thinking or "" for part in parts) == ANSWER
    assert parts[-1].done_reason == "stop"
    (seen,) = behind.asked("/api/generate")
    assert seen.json == {
        "model": "qwen3",
        "prompt": "What time is it?",
        "system": "You are brief.",
        "stream": True,
    }


def test_a_chat_is_answered_with_its_history(client: ollama.Client, behind: FakeOllama) -> None:
    first = client.chat("talker", [{"role": "user", "content": "Good day."}])
    assert heard(first.message.content) == without_spaces(ANSWER)
    assert first.message.thinking == ANSWER
    messages: list[Any] = [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": "Good day."},
        first.message,
        {"role": "assistant", "content": first.message.content},  # sound alone: nothing to read
        {"role": "user", "content": "And now?", "images": [b"picture"]},
    ]
    parts = list(client.chat("talker", messages, stream=True))
    assert heard("".join(p.message.content or "" for p in parts)) == without_spaces(ANSWER)
    assert "".join(part.message.thinking or "" for part in parts) == ANSWER
    one, two = behind.asked("/api/chat")
    assert one.json["messages"] == [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": "Good day."},
    ]
    assert two.json["messages"] == [
        {"role": "system", "content": "You are kind."},
        {"role": "user", "content": "Good day."},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": "And now?", "images": ["cGljdHVyZQ=="]},
    ]


def test_each_piece_says_what_it_says(http: httpx.Client) -> None:
    body = {"model": "talker", "prompt": "Hi"}
    lines = lines_of(http.post("/api/generate", json=body).content)
    texts = [line["audio"]["text"] for line in lines if line["audio"].get("text")]
    assert len(texts) > 1
    assert without_spaces("".join(texts)) == without_spaces(ANSWER)
    first = [line for line in lines if line["audio"].get("text")]
    assert [line["thinking"].strip() for line in first] == [text.strip() for text in texts]
    assert all("thinking" not in line for line in lines if not line["audio"].get("text"))


def test_whole_and_streamed_answers_are_the_same_sound(client: ollama.Client) -> None:
    whole = client.generate("talker", "Hi")
    streamed = "".join(part.response or "" for part in client.generate("talker", "Hi", stream=True))
    assert base64.b64decode(whole.response or "")[44:] == base64.b64decode(streamed)[44:]


def test_sound_starts_before_the_language_model_is_through(
    front: LiveServer, behind: FakeOllama
) -> None:
    wait = Wait()
    behind.models[LLM] = ["Good", " morn", "ing to you.", " It", wait, " is nine."]
    with wire(front.address) as connection:
        connection.post("/api/generate", {"model": "talker", "prompt": "Hi"})
        assert connection.head()[0] == 200
        data = connection.chunk()
        first = lines_of(data)[0]
        assert first["thinking"].strip() == "Good morning to you."
        assert first["response"]
        wait.gate.set()
        lines = lines_of(data + b"".join(connection.chunks()))
    assert heard("".join(line["response"] for line in lines)) == "Goodmorningtoyou.Itisnine."


@pytest.mark.parametrize("script", [[Wait()], ["Good morning to you. It", Wait()]])
def test_leaving_stops_both(front: LiveServer, behind: FakeOllama, script: list[Step]) -> None:
    behind.models[LLM] = script
    with wire(front.address) as connection:
        connection.post("/api/generate", {"model": "talker", "prompt": "Hi"})
        if len(script) > 1:
            assert connection.head()[0] == 200
            connection.chunk()
        behind.until(lambda it: len(it.seen) == 1)
    behind.until(lambda it: it.left == 1)
    idle(front)
    assert counted(front, "cancelled") == 1


def test_leaving_while_the_voice_is_behind_stops_both(
    front: LiveServer, behind: FakeOllama
) -> None:
    behind.models[LLM] = [*["This is one more sentence. "] * 40, Wait()]
    with wire(front.address) as connection:
        connection.post(
            "/api/generate", {"model": "talker", "prompt": "Hi", "options": {"tone_rate": 1.0}}
        )
        assert connection.head()[0] == 200
        connection.chunk()
    behind.until(lambda it: it.left == 1)
    idle(front)


@pytest.mark.parametrize("model", ["talker", "qwen3"])
def test_many_who_leave_at_any_moment_leave_nothing_behind(
    front: LiveServer, behind: FakeOllama, model: str
) -> None:
    behind.models[LLM] = [*["This is one more sentence. "] * 5, Wait()]
    chance = random.Random(model)
    present: list[Wire] = []
    for _ in range(60):
        caller = Wire(front.address)
        options = {"tone_rate": chance.choice([0.0, 1.0])}
        caller.post("/api/generate", {"model": model, "prompt": "Hi", "options": options})
        if chance.random() < 0.5:
            assert caller.head()[0] == 200
            caller.chunk()
        present.append(caller)
        if len(present) > 3:
            present.pop(chance.randrange(4)).close()
    for caller in present:
        caller.close()
    idle(front)
    behind.until(lambda it: it.left == len(it.asked("/api/generate")))
    assert behind.left > 30
    behind.models[LLM] = ["All is well."]
    body = {"model": "talker", "prompt": "Hi"}
    assert lines_of(httpx.post(f"{front.url}/api/generate", json=body).content)[-1]["done"]


def test_a_whole_answer_that_nobody_awaits_stops_both(
    front: LiveServer, behind: FakeOllama
) -> None:
    behind.models[LLM] = ["Good morning to you. It", Wait()]
    with wire(front.address) as connection:
        connection.post("/api/chat", {"model": "talker", "stream": False,
                                      "messages": [{"role": "user", "content": "Hi"}]})  # fmt: skip
        behind.until(lambda it: len(it.seen) == 1)
    behind.until(lambda it: it.left == 1)
    idle(front)
    assert counted(front, "cancelled", "chat") == 1


@pytest.mark.parametrize(
    "script",
    [
        [Thought("Let me see. "), Thought("Nine."), *TOKENS],
        ["<think>", "Let me see. ", "Nine.", "</think>", "\n\n", *TOKENS],
        ["\n<th", "ink>Let </th", "me see.</thi", "nk>\n" + ANSWER],
        ["<thinking>Let me see.</thinking>", *TOKENS],
    ],
)
def test_thinking_is_not_spoken(
    client: ollama.Client, behind: FakeOllama, script: list[Step]
) -> None:
    behind.models[LLM] = script
    for answer in (
        client.generate("talker", "Hi"),
        client.chat("talker", [{"role": "user", "content": "Hi"}], think=True).message,
    ):
        sound = answer.response if isinstance(answer, ollama.GenerateResponse) else answer.content
        assert heard(sound) == without_spaces(ANSWER)
        assert answer.thinking == ANSWER
    assert behind.asked("/api/chat")[0].json["think"] is True
    assert "think" not in behind.asked("/api/generate")[0].json


@pytest.mark.parametrize("last", [ErrorLine("runner died"), Cut()])
def test_failures_behind_the_first_sound_are_last_lines(
    http: httpx.Client, front: LiveServer, behind: FakeOllama, last: Step
) -> None:
    behind.models[LLM] = ["Good morning to you. It is", last]
    lines = lines_of(http.post("/api/generate", json={"model": "talker", "prompt": "Hi"}).content)
    assert list(lines[-1]) == ["error"]
    assert ("runner died" if isinstance(last, ErrorLine) else "broke off") in lines[-1]["error"]
    pcm = base64.b64decode("".join(line["response"] for line in lines[:-1]))[44:]
    assert listen_s16(pcm, 24_000).replace(" ", "") == "Goodmorningtoyou."
    assert counted(front, "failed") == 1


def test_an_upstream_that_is_down_is_a_502(http: httpx.Client, behind: FakeOllama) -> None:
    behind.stop()
    answer = http.post("/api/generate", json={"model": "talker", "prompt": "Hi"})
    assert answer.status_code == 502
    assert "(OLLAMA_UPSTREAM) does not answer" in answer.json()["error"]
    empty = http.post(
        "/api/generate", json={"model": "talker", "prompt": "  ", "options": {"llm": ""}}
    )
    assert empty.status_code == 400  # the voice itself still answers


def test_options_are_shared_out(client: ollama.Client, behind: FakeOllama) -> None:
    options = {
        "temperature": 0.0, "num_predict": 5, "num_ctx": 8192, "seed": 7, "stop": ["\n"],
        "new_option_of_ollama": 1, "audio_format": "flac", "speed": 1.5, "top_k": 0,
    }  # fmt: skip
    answer = client.generate("talker", "Hi", options=options, format="json", keep_alive=600)
    assert base64.b64decode(answer.response or "").startswith(b"fLaC")
    asked = behind.asked("/api/generate")[0].json
    assert asked["options"] == {
        "temperature": 0.0, "num_predict": 5, "num_ctx": 8192, "seed": 7, "stop": ["\n"],
        "new_option_of_ollama": 1, "top_k": 0,
    }  # fmt: skip
    assert asked["format"] == "json"
    assert "keep_alive" not in asked
    assert client.ps().models[0].model == "talker:latest"


def test_raw_is_raw_for_both_and_a_template_is_the_voice_s(
    client: ollama.Client, behind: FakeOllama
) -> None:
    raw = client.generate("talker", "<|user|>Hi", raw=True)
    assert heard(raw.response) == without_spaces(ANSWER)
    framed = client.generate("talker", "Hi", template="So: {{ .Prompt }} Bye.", system="Be kind.")
    assert heard(framed.response) == without_spaces(f"So:{ANSWER}Bye.")
    assert framed.thinking == ANSWER
    one, two = (seen.json for seen in behind.asked("/api/generate"))
    assert one == {"model": "qwen3", "prompt": "<|user|>Hi", "raw": True, "stream": True}
    assert two["system"] == "Be kind."
    assert "template" not in two


def test_a_request_names_its_own_language_model_or_none(
    client: ollama.Client, behind: FakeOllama
) -> None:
    behind.models["gemma3:latest"] = ["Hello there."]
    asked = client.generate("tone", "Hi", options={"llm": "gemma3"})
    assert heard(asked.response) == "Hellothere."
    plain = client.generate("talker", "Just this.", options={"llm": ""})
    assert heard(plain.response) == "Justthis."
    assert plain.thinking is None
    with pytest.raises(ollama.ResponseError, match="option 'llm' must be a text") as wrong:
        client.generate("tone", "Hi", options={"llm": 1})
    assert wrong.value.status_code == 400


def test_code_is_written_and_not_spoken(client: ollama.Client, behind: FakeOllama) -> None:
    code = "```python\n" + "print('x')\n" * 2000 + "```\n"
    behind.models[LLM] = ["Try this.\n\n", code, "That is all.\n", "```\nend\n```\n"]
    parts = list(client.generate("talker", "Hi", stream=True))
    assert heard("".join(part.response or "" for part in parts)) == "Trythis.Thatisall."
    written = "".join(part.thinking or "" for part in parts)
    assert written == "".join(step for step in behind.models[LLM] if isinstance(step, str))


def test_lines_stay_short_whatever_is_written(http: httpx.Client, behind: FakeOllama) -> None:
    behind.models[LLM] = ["Ok.\n```\n" + "\u2028" * 9000 + "\n```\nDone."]
    body = http.post("/api/generate", json={"model": "talker", "prompt": "Hi"}).content
    assert max(len(line) for line in body.split(b"\n")) < 48 * 1024


def test_an_answer_that_was_cut_short_says_so(client: ollama.Client, behind: FakeOllama) -> None:
    behind.done_reason = "length"
    assert client.generate("talker", "Hi").done_reason == "length"


def test_plain_audio_is_asked_for_by_accept(http: httpx.Client) -> None:
    answer = http.post("/api/generate", json={"model": "talker", "prompt": "Hi"},
                       headers={"Accept": "audio/pcm"})  # fmt: skip
    assert listen_s16(answer.content, 24_000).replace(" ", "") == without_spaces(ANSWER)


def test_loading_and_unloading_ask_nobody(client: ollama.Client, behind: FakeOllama) -> None:
    assert client.generate("talker", "").done_reason == "load"
    assert client.chat("talker", keep_alive=0).done_reason == "unload"
    with pytest.raises(ollama.ResponseError, match="does not support tools"):
        client.chat("talker", [{"role": "user", "content": "Hi"}], tools=[{"type": "function"}])
    assert behind.seen == []


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with no Ollama behind it."""
    with serving(settings_for(tmp_path_factory.mktemp("alone") / "models")) as server:
        yield server


def test_without_an_upstream_the_refusal_names_the_setting(alone: LiveServer) -> None:
    body = {"model": "tone", "prompt": "Hi", "options": {"llm": "qwen3"}}
    answer = httpx.post(f"{alone.url}/api/generate", json=body)
    assert answer.status_code == 400
    assert "OLLAMA_UPSTREAM" in answer.json()["error"]
    assert counted(alone, "client_error") == 1


@pytest.fixture
def narrow(tmp_path_factory: pytest.TempPathFactory, behind: FakeOllama) -> Iterator[LiveServer]:
    """A server of ours that speaks one request at a time."""
    settings = settings_for(tmp_path_factory.mktemp("narrow") / "models")
    with serving(replace(settings, upstream=behind.url, num_parallel=1)) as server:
        make_talker(server)
        yield server


def test_a_language_model_that_has_not_begun_holds_no_place(
    narrow: LiveServer, behind: FakeOllama
) -> None:
    wait = Wait()
    behind.models[LLM] = [Thought("Let me see."), wait, "Nine."]
    with wire(narrow.address) as connection:
        connection.post("/api/generate", {"model": "talker", "prompt": "Hi"})
        behind.until(lambda it: len(it.seen) == 1)
        body = {"model": "tone", "prompt": "Me first.", "stream": False}
        other = httpx.post(f"{narrow.url}/api/generate", json=body, timeout=60).json()
        assert heard(other["response"]) == "Mefirst."
        wait.gate.set()
        assert connection.head()[0] == 200
        lines = lines_of(b"".join(connection.chunks()))
    assert heard("".join(line["response"] for line in lines)) == "Nine."


def test_a_deadline_holds_for_both(http: httpx.Client, behind: FakeOllama) -> None:
    behind.models[LLM] = [Wait()]
    body = {"model": "talker", "prompt": "Hi", "options": {"deadline_ms": 100}}
    answer = http.post("/api/generate", json=body)
    assert answer.status_code == 504
    behind.until(lambda it: it.left == len(it.seen))
