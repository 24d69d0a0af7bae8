"""The page at /ui/ as its user has it before them."""

import contextlib
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.support.chromium import until
from tests.support.live import LiveServer

SPEAKING = {"making", "playing"}


class Page:
    """What a test does on the page, and what it sees there."""

    def __init__(self, browser: Chrome, server: LiveServer, language: str = "en") -> None:
        self.browser = browser
        browser.get(f"{server.url}/ui/?lang={language}")
        browser.execute_script("localStorage.clear()")
        self.complaints()
        browser.refresh()
        until(browser, lambda: self.text("version"), "the page's version")

    def part(self, name: str) -> WebElement:
        """The element with an id."""
        return self.browser.find_element(By.ID, name)

    def text(self, name: str) -> str:
        """What an element shows."""
        return self.part(name).text

    def state(self) -> str:
        """loading, making, playing, done or stopped; idle before anything."""
        return str(self.part("player").get_attribute("data-state"))

    def until_state(self, *states: str) -> None:
        """Wait for one of these states; an error on the page fails the test."""

        def look() -> bool:
            assert not self.text("error"), self.text("error")
            return self.state() in states

        until(self.browser, look, f"{states}, but {self.state()!r}")

    def choose(self, name: str, value: str) -> None:
        """Choose from a list."""
        until(self.browser, lambda: self.has_choice(name, value), f"{value} in {name}")
        Select(self.part(name)).select_by_value(value)

    def has_choice(self, name: str, value: str) -> bool:
        """Whether a list offers a value."""
        choices = Select(self.part(name)).options
        return value in [choice.get_attribute("value") for choice in choices]

    def write(self, name: str, text: str) -> None:
        """Replace what a field holds."""
        field = self.part(name)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.NULL, text)

    def option(self, name: str, text: str) -> None:
        """Set one of the further options."""
        if self.part("more").get_attribute("open") is None:
            self.part("more").find_element(By.TAG_NAME, "summary").click()
        self.write(f"option-{name}", text)

    def press(self, *keys: str) -> None:
        """Keys, to wherever the focus is."""
        ActionChains(self.browser).send_keys(*keys).perform()

    def press_with(self, modifier: str, key: str) -> None:
        """A key while another is held down."""
        ActionChains(self.browser).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def say(self, text: str) -> None:
        """Write a text and press the button."""
        self.write("text", text)
        self.part("speak").click()

    def look(self, script: str) -> Any:  # noqa: ANN401
        """The value of an expression in the page."""
        return self.browser.execute_script(f"return {script}")

    def words(self) -> list[str]:
        """Words in the order in which they lit up, as long as it spoke."""
        spoken = [seen for seen in self.look("window.seen") if seen["state"] in SPEAKING]
        return [word for word, _ in groupby(seen["word"] for seen in spoken) if word]

    def sound(self) -> NDArray[np.float64]:
        """What was sent to the sound card, without the gaps: float [N], 1 is full scale."""
        blocks = self.look("window.blocks")
        return np.concatenate([block["samples"] for block in blocks] or [[]]) / 32768

    def complaints(self) -> list[str]:
        """What the browser's console has said: blocked content, errors of scripts."""
        entries = self.browser.execute("getLog", {"type": "browser"})["value"]
        return [entry["message"] for entry in entries]

    def close(self) -> None:
        """Leave it silent."""
        with contextlib.suppress(Exception):
            self.browser.get("about:blank")
