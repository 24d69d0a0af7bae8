"""The page in Chromium: sound while it is made, the words, cancel, keys, files, two languages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import av
import httpx
import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By

from ollama_tts.config import ApiKey
from tests.support.chromium import until
from tests.support.live import LiveServer, serving, settings_for
from tests.support.page import Page
from tests.support.tone_listener import listen
from tests.support.upstream import FakeOllama, Wait

TEXT = "One two three. Four five six. Seven eight nine."
SAID = TEXT.replace(" ", "")
LONG = "This is a sentence that takes its time. " * 20
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def page(chrome: Chrome, live: LiveServer) -> Iterator[Page]:
    """The page with the voice `tone`; whatever the console says fails the test."""
    page = Page(chrome, live)
    page.choose("model", "tone:latest")
    yield page
    complaints = page.complaints()
    page.close()
    assert complaints == []


@dataclass(frozen=True)
class Talking:
    """A server whose model `talker` says what the language model behind it answers."""

    behind: FakeOllama
    server: LiveServer


@pytest.fixture
def talking(tmp_path: Path) -> Iterator[Talking]:
    with FakeOllama({"qwen3:latest": ["Good", " morn", "ing. ", "And more."]}).up() as behind:
        settings = replace(settings_for(tmp_path / "models"), upstream=behind.url)
        with serving(settings) as server:
            talker = {"model": "talker", "modelfile": "FROM tone\nPARAMETER llm qwen3\n"}
            httpx.post(f"{server.url}/api/create", json=talker, timeout=60).raise_for_status()
            yield Talking(behind, server)


def in_order(words: list[str], text: str) -> bool:
    """Whether `words` stand in `text` in this order, each further on than the last."""
    at = 0
    for word in words:
        at = text.find(word, at)
        if at < 0:
            return False
        at += len(word)
    return True


def test_words_light_up_in_order_as_they_are_said(page: Page) -> None:
    page.option("tone_rate", "0.9")
    page.say(TEXT)
    page.until_state("done")
    assert len(page.words()) > 1
    assert in_order(page.words(), TEXT)
    states = list(dict.fromkeys(seen["state"] for seen in page.look("window.seen")))
    assert in_order(states, "idle loading making playing done")
    assert page.look("document.querySelectorAll('#words .said').length") == len(TEXT.split())
    assert listen(page.sound(), 24_000).replace(" ", "") == SAID


def test_sound_is_heard_while_the_rest_is_not_even_written(talking: Talking, page: Page) -> None:
    rest = Wait()
    talking.behind.models["qwen3:latest"] = ["One two three. Four five six. ", rest, "Seven."]
    page = Page(page.browser, talking.server)
    page.choose("model", "talker:latest")
    page.say("Count.")
    until(page.browser, lambda: "making" in page.look("window.heard"), "a sound")
    until(page.browser, page.words, "a word that lights up")
    assert page.state() == "making"
    rest.gate.set()
    page.until_state("done")
    assert page.part("words").text == "One two three. Four five six. Seven."
    assert in_order(page.words(), "One two three. Four five six. Seven.")
    assert listen(page.sound(), 24_000).replace(" ", "") == "Onetwothree.Fourfivesix.Seven."


def test_blocks_meet_on_the_very_sample(page: Page) -> None:
    page.say(TEXT)
    page.until_state("done")
    blocks = page.look("window.blocks.map(({ when, length }) => ({ when, length }))")
    seams = [b["when"] - a["when"] - a["length"] / 24_000 for a, b in pairwise(blocks)]
    assert len([seam for seam in seams if abs(seam) > 1e-6]) == int(page.text("gaps"))
    assert min(seams, default=0.0) > -1e-6
    assert page.text("length") == f"{len(page.sound()) / 24_000:.1f} s"
    assert page.text("by") == "tone"
    assert re.fullmatch(r"\d+ ms", page.text("first"))
    assert float(page.text("factor")) > 0


def test_stop_frees_the_server_and_the_next_text_starts_clean(page: Page, live: LiveServer) -> None:
    page.option("tone_rate", "1")
    page.say(LONG)
    until(page.browser, page.words, "a word that lights up")
    page.part("stop").click()
    live.until(
        lambda node: node.metrics.registry.get_sample_value("ollama_tts_utterances_active") == 0
    )
    assert page.state() == "stopped"
    sent = page.look("window.blocks.length")
    assert len(page.sound()) / 24_000 < 0.04 * len(LONG)
    assert page.part("stop").get_attribute("disabled")
    page.browser.execute_script("window.blocks.length = 0; window.seen.length = 0")
    assert sent > 0
    page.part("reset").click()
    page.say("A new text.")
    page.until_state("done")
    assert listen(page.sound(), 24_000).replace(" ", "") == "Anewtext."
    assert in_order(page.words(), "A new text.")


def test_a_keyboard_is_enough(page: Page) -> None:
    page.browser.refresh()
    until(page.browser, lambda: page.has_choice("model", "tone:latest"), "the page again")
    page.press(Keys.TAB)
    assert page.look("document.activeElement.className") == "skip"
    page.press(Keys.ENTER)
    page.press_with(Keys.CONTROL, "a")
    page.press("Keys speak. " * 12)
    page.press_with(Keys.CONTROL, Keys.ENTER)
    until(page.browser, page.words, "a word that lights up")
    page.press(Keys.ESCAPE)
    until(page.browser, lambda: page.text("pause") == "Go on", "a pause")
    page.part("seek").send_keys(Keys.HOME)
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT):
        page.part("seek").send_keys(key)
    assert page.text("clock").startswith("1.0 / ")
    assert str(page.part("seek").get_attribute("aria-valuetext")).startswith("1.0 of ")
    page.part("pause").send_keys(Keys.SPACE)
    page.until_state("done")


def test_every_file_holds_what_was_heard(page: Page, downloads: Path) -> None:
    page.say(TEXT)
    page.until_state("done")
    duration_s = len(page.sound()) / 24_000
    for name in ("wav", "mp3", "opus", "flac", "aac", "pcm"):
        page.choose("format", name)
        page.part("save").click()
        file = downloads / f"speech.{name}"
        until(page.browser, file.exists, file.name)
        until(page.browser, lambda: page.part("save").is_enabled(), "the end of a download")
        if name == "pcm":
            assert file.stat().st_size == 2 * len(page.sound())
        else:
            longer_s = 0.09 if name == "aac" else 0.02  # ADTS has no place for its exact length
            assert decoded_s(file) == pytest.approx(duration_s, abs=longer_s)
        file.unlink()


def test_what_a_language_model_answers_is_saved_without_asking_it_again(
    talking: Talking, page: Page, downloads: Path
) -> None:
    page = Page(page.browser, talking.server)
    page.choose("model", "talker:latest")
    page.say("What is it?")
    page.until_state("done")
    assert page.part("words").text == "Good morning. And more."
    assert listen(page.sound(), 24_000).replace(" ", "") == "Goodmorning.Andmore."
    page.choose("format", "flac")
    page.part("save").click()
    file = downloads / "speech.flac"
    until(page.browser, file.exists, file.name)
    assert decoded_s(file) == pytest.approx(len(page.sound()) / 24_000, abs=0.02)
    asked = talking.behind.asked("/api/chat") + talking.behind.asked("/api/generate")
    assert len(asked) == 1


def decoded_s(file: Path) -> float:
    """Seconds of sound in a file."""
    with av.open(str(file), "r") as container:
        return sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))


def test_models_in_memory_are_listed_and_can_be_unloaded(page: Page) -> None:
    page.say("Loaded.")
    page.until_state("done")
    until(page.browser, lambda: "tone" in page.text("loaded"), "tone in the list")
    page.browser.find_element(By.CSS_SELECTOR, "[aria-label='Unload tone']").click()
    until(page.browser, lambda: "tone" not in page.text("loaded"), "tone's leaving")
    until(page.browser, lambda: page.part("none-loaded").is_displayed(), "the empty list's text")


def test_a_refusal_is_told_in_words_and_the_page_goes_on(page: Page) -> None:
    page.say(" ")
    assert page.text("error") == "There is no text yet: type something first."
    page.choose("voice", " other")
    page.write("other", "nobody")
    page.say("Who?")
    until(page.browser, lambda: "nobody" in page.text("error"), "the refusal")
    assert page.text("error").startswith("The server cannot speak this:")
    assert any("400" in line for line in page.complaints())
    page.choose("voice", "tone")
    page.say("Me.")
    page.until_state("done")


def test_a_server_with_keys_is_asked_with_one(chrome: Chrome, tmp_path: Path) -> None:
    settings = replace(settings_for(tmp_path / "models"), api_keys=(ApiKey.of("secret"),))
    with serving(settings) as server:
        page = Page(chrome, server)
        until(chrome, lambda: page.part("locked").is_displayed(), "the field for a key")
        assert page.look("document.activeElement.id") == "key"
        assert page.text("error") == "This server wants an API key."
        page.press("secret", Keys.TAB)
        page.choose("model", "tone:latest")
        assert page.text("error") == ""
        page.say("Open.")
        page.until_state("done")
        page.close()


def test_chinese_throughout_and_back(page: Page) -> None:
    before = page.part("text").get_attribute("value")
    page.browser.find_element(By.CSS_SELECTOR, "[data-tongue=zh]").click()
    assert page.look("document.documentElement.lang") == "zh-CN"
    page.part("more").find_element(By.TAG_NAME, "summary").click()
    told = page.look(
        "[...document.querySelectorAll('[data-t], #options small')].map(e => e.textContent)"
    )
    assert [text for text in told if not CHINESE.search(text)] == []
    example = page.part("text").get_attribute("value") or ""
    assert bool(CHINESE.search(example)) == page.has_choice("model", "kokoro:latest")
    page.choose("model", "tone:latest")
    page.say("你好，世界。第二句话。")
    page.until_state("done")
    assert listen(page.sound(), 24_000) == "你好，世界。第二句话。"
    assert in_order(page.words(), "你好，世界。第二句话。")
    page.browser.refresh()
    until(page.browser, lambda: page.text("version"), "the page again")
    assert page.has_choice("model", "tone:latest")
    page.browser.find_element(By.CSS_SELECTOR, "[data-tongue=en]").click()
    assert page.part("text").get_attribute("value") == before


def test_the_first_example_is_one_that_the_only_voice_speaks(
    chrome: Chrome, tmp_path: Path
) -> None:
    with serving(settings_for(tmp_path / "models")) as server:
        httpx.request("DELETE", f"{server.url}/api/delete", json={"model": "kokoro"}, timeout=60)
        page = Page(chrome, server, "zh")
        until(chrome, lambda: page.has_choice("model", "hibari:latest"), "the voice")
        assert not page.has_choice("model", "kokoro:latest")
        until(chrome, lambda: page.look("text.value").isascii(), "an English text")
        page.part("speak").click()
        page.until_state("done")
        page.browser.find_element(By.CSS_SELECTOR, "[data-example=hard]").click()
        assert page.look("text.value").isascii()
        page.write("text", "我的文字")
        page.choose("model", "tone:latest")
        assert page.part("text").get_attribute("value") == "我的文字"
        page.close()


@pytest.mark.parametrize(
    ("width", "language", "scheme"),
    [(1280, "en", "light"), (1280, "zh", "dark"), (320, "en", "dark"), (320, "zh", "light")],
)
def test_nothing_is_cut_off_and_nobody_is_shut_out(
    width: int, language: str, scheme: str, chrome: Chrome, live: LiveServer
) -> None:
    """axe-core finds nothing against WCAG 2.1 AA: names, roles, contrast."""
    looks = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", looks)
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    page = Page(chrome, live, language)
    page.choose("model", "tone:latest")
    page.say("One two three.")
    page.until_state("done")
    page.browser.execute_script(
        "for (const e of document.querySelectorAll('details')) e.open = true"
    )
    assert page.look("document.scrollingElement.scrollWidth") <= width
    found = Axe().run(chrome)["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []
    page.close()
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
