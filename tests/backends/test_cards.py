"""What graphics cards say: NVML's own errors where there is none, a stand-in where there is."""

import asyncio
import logging
import threading
from types import ModuleType, SimpleNamespace

import pynvml
import pytest

from ollama_tts.backends.cards import Cards, Nvml, nvml
from ollama_tts.metrics import Card, Metrics

CARD = Card(0, 3, 10, 0.25)


class Driver(ModuleType):
    """NVML with cards of our own: `lost` has fallen off the bus, `split` tells no utilization."""

    NVMLError = pynvml.NVMLError

    def __init__(self, cards: int, lost: int = -1, split: int = -1) -> None:
        super().__init__("driver")
        self.cards, self.lost, self.split = cards, lost, split
        self.started = 0

    def nvmlInit(self) -> None:  # noqa: N802  # NVML's own name
        self.started += 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802  # NVML's own name
        return self.cards

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802  # NVML's own name
        if index == self.lost:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return index

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802  # NVML's own name
        return SimpleNamespace(free=handle + 3, total=10)

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:  # noqa: N802  # NVML's own name
        if handle == self.split:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return SimpleNamespace(gpu=25)


class Fixed:
    """A reader whose answer is known; it waits for `go`."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.reads = 0

    def read(self) -> tuple[Card, ...]:
        self.reads += 1
        assert self.go.wait(30)
        return (CARD,)


def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library of the driver, whatever this machine has."""

    def load(*_: object) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", load)


def test_without_a_driver_there_are_no_cards_and_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    missing(monkeypatch)
    caplog.set_level(logging.INFO)
    reader = nvml()
    assert reader.read() == reader.read() == ()
    assert caplog.text.count("no figures of graphics cards") == 1


def test_this_machine_is_read_without_an_error() -> None:
    for card in nvml().read():
        assert 0 <= card.free_bytes <= card.total_bytes


def test_without_the_package_there_are_no_cards() -> None:
    assert Nvml(None).read() == ()


def test_lost_and_split_cards_do_not_hide_the_others() -> None:
    driver = Driver(4, lost=1, split=2)
    reader = Nvml(driver)
    assert reader.read() == (CARD, Card(2, 5, 10, None), Card(3, 6, 10, 0.25))
    reader.read()
    assert driver.started == 1


async def test_all_who_ask_wait_for_one_look() -> None:
    reader = Fixed()
    cards = Cards(reader)
    looks = [asyncio.create_task(cards.look()) for _ in range(5)]
    await asyncio.sleep(0)
    reader.go.set()
    await asyncio.gather(*looks)
    assert cards.seen == (CARD,)
    assert reader.reads == 1


async def test_a_driver_that_hangs_costs_the_figures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ollama_tts.backends.cards.PATIENCE_S", 0.0)
    reader = Fixed()
    cards = Cards(reader)
    await cards.look()
    await cards.look()
    assert cards.seen == ()
    assert reader.reads == 1
    reader.go.set()


def test_gauges_are_there_by_card_and_have_no_value_without_one() -> None:
    metrics = Metrics()
    assert b"# TYPE gpu_memory_free_bytes gauge" in metrics.render()
    assert b"\ngpu_memory_free_bytes{" not in metrics.render()
    metrics.watch_cards(lambda: (CARD, Card(1, 4, 10, None)))
    lines = metrics.render().decode().splitlines()
    assert 'gpu_memory_free_bytes{gpu="1"} 4.0' in lines
    assert 'ollama_tts_gpu_memory_total_bytes{gpu="0"} 10.0' in lines
    assert 'ollama_tts_gpu_utilization_ratio{gpu="0"} 0.25' in lines
    assert not any('ratio{gpu="1"}' in line for line in lines)


async def test_scrapes_close_behind_each_other_all_see_the_cards() -> None:
    """One look may be over, and the next begun, before all who waited for it are back."""
    reader = Fixed()
    reader.go.set()
    cards = Cards(reader)
    async with asyncio.TaskGroup() as scrapes:
        for _ in range(2000):
            scrapes.create_task(cards.look())
            await asyncio.sleep(0)
    assert cards.seen == (CARD,)
    assert reader.reads < 2000
