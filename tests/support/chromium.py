"""Debian's Chromium without a screen, driven as a person would: clicks, keys, and what is seen."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selenium.common import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

T = TypeVar("T")

PATIENCE_S = 60.0
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root in containers
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--no-proxy-server",
    "--mute-audio",
)


def missing() -> str:
    """Why no browser can be driven here; empty where one can."""
    if BROWSER is None:
        return "Chromium is not installed (Debian: apt install chromium)"
    if DRIVER is None:
        return "chromedriver is not installed (Debian: apt install chromium-driver)"
    return ""


@contextmanager
def chromium(downloads: Path, language: str = "en-GB") -> Iterator[Chrome]:
    """A browser that keeps what its console says, and saves files to `downloads`."""
    assert BROWSER is not None
    options = ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*_FLAGS, f"--accept-lang={language}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    browser = Chrome(options, ChromeService(DRIVER))
    try:
        browser.set_script_timeout(PATIENCE_S)
        yield browser
    finally:
        browser.quit()


def until(browser: Chrome, look: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """The first true value that `look` gives; fails with `what` if none comes.

    Elements that the page replaces while they are looked at are looked for again.
    """
    gone = (StaleElementReferenceException,)
    wait = WebDriverWait(browser, patience_s, 0.02, ignored_exceptions=gone)
    return wait.until(lambda _: look(), f"it never came: {what}")


@contextmanager
def in_every_page(browser: Chrome, script: str) -> Iterator[None]:
    """While the block lasts, a script runs in every new page before the page's own."""
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
