from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.pulls import Place, place
from tests.support.registry import Auth, FakeRegistry

Placed = Callable[..., Place]
Registered = Callable[..., FakeRegistry]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def registered() -> Iterator[Registered]:
    with ExitStack() as stack:

        def make(auth: Auth = "") -> FakeRegistry:
            return stack.enter_context(FakeRegistry(auth).up())

        yield make


@pytest.fixture
def registry(registered: Registered) -> FakeRegistry:
    return registered()


@pytest.fixture
async def placed(tmp_path: Path) -> AsyncIterator[Placed]:
    made: list[Place] = []

    def make(folder: str = "here", **settings: Any) -> Place:  # noqa: ANN401  # `place` types them
        made.append(place(tmp_path / folder / "models", **settings))
        return made[-1]

    yield make
    for one in made:
        await one.registries.aclose()
