"""Players that begin before the sound is complete: Chromium's `<audio>` and its MediaSource."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests.support.chromium import in_every_page, until
from tests.support.live import LiveServer
from tests.support.web_backend import Relay, relaying

PLAYERS = Path(__file__).parents[1] / "support" / "playing.js"
TEXT = "A sound that begins before it is complete. " * 8
FORMATS = ("wav", "mp3", "opus", "flac", "aac")
CLOCK_S = 0.3  # how exact Chromium's clock is while it plays at eight times the pace


@pytest.fixture
def players(chrome: Chrome) -> Iterator[Chrome]:
    with in_every_page(chrome, PLAYERS.read_text("utf-8")):
        yield chrome


def told(browser: Chrome) -> dict[str, dict[str, Any]]:
    """What became of each player; an error of one fails the test."""
    found: dict[str, dict[str, Any]] = browser.execute_script("return window.played")
    assert [player["error"] for player in found.values() if player["error"]] == []
    return found


def open_clicked(browser: Chrome, url: str) -> None:
    """Open a page and click on it: without, it may make no sound."""
    browser.get(url)
    browser.find_element(By.TAG_NAME, "button").click()


def seconds_of(relay: Relay) -> float:
    """How long the sound is."""
    with relay.asked("pcm") as answer:
        return len(answer.read()) / 2 / 24_000


def test_audio_elements_begin_on_a_part_and_play_it_through(
    players: Chrome, live: LiveServer
) -> None:
    with relaying(live.url, TEXT) as (relay, url):
        duration_s = seconds_of(relay)
        open_clicked(players, url)
        for name in FORMATS:
            players.execute_script("window.playAddress(arguments[0])", name)

        def all_of(what: str) -> bool:
            return all(player[what] for player in told(players).values())

        until(players, lambda: all_of("began"), "a beginning")
        assert not any(player["ended"] for player in told(players).values())
        relay.go_on.set()
        until(players, lambda: all_of("ended"), "an end")
        ends_s = [player["at"] for player in told(players).values()]
        assert ends_s == pytest.approx([duration_s] * len(FORMATS), abs=CLOCK_S)
        players.get("about:blank")


@pytest.mark.parametrize(("name", "media_type"), [("mp3", "audio/mpeg"), ("aac", "audio/aac")])
def test_a_media_source_begins_on_half_and_plays_through(
    name: str, media_type: str, players: Chrome, live: LiveServer
) -> None:
    with relaying(live.url, TEXT) as (relay, url):
        open_clicked(players, url)
        body = {"model": "tone", "input": TEXT, "response_format": name}
        script = "window.playSource(...arguments)"
        players.execute_script(script, f"{live.url}/v1/audio/speech", body, media_type)
        until(players, lambda: told(players)[media_type]["ended"], "an end")
        duration_s = seconds_of(relay)
        assert told(players)[media_type]["at"] == pytest.approx(duration_s, abs=CLOCK_S)
        players.get("about:blank")
