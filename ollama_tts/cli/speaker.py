"""Who speaks: the server that the environment names, or a node in this process.

A server is asked first. Where none answers on this machine, a node without a port is made for the
one job; a server elsewhere that does not answer is a failure.
"""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager

from ollama_tts.cli.job import Job, Sound, Speaker
from ollama_tts.cli.progress import ProgressLines
from ollama_tts.client import Asked, AsyncClient, Backoff, OnProgress
from ollama_tts.config import Address, Settings, parse_address
from ollama_tts.errors import NotFound, Unreachable


@asynccontextmanager
async def find_speaker(settings: Settings) -> AsyncGenerator[Speaker]:
    """The server of `settings.address` if it answers, else a node in this process.

    Raises:
        Unreachable: The server is on another machine and does not answer.
    """
    speaker = _remote() if await _is_served(settings.address) else _local(settings)
    async with speaker as found:
        yield found


async def _is_served(address: Address) -> bool:
    """Whether a server is to be asked: always one elsewhere; on this machine one that speaks."""
    here = parse_address(address.client_url).loopback
    async with AsyncClient(backoff=Backoff(retries=0), timeout_s=10) as probe:
        try:
            speaks = await probe.speaks()
        except Unreachable:
            if not here:
                raise
            return False
    if here and not speaks:
        note = f"Note: what answers at {address.client_url} is no ollama-tts; this process speaks"
        print(note, file=sys.stderr)
    return speaks or not here


@asynccontextmanager
async def _remote() -> AsyncGenerator[Speaker]:
    async with AsyncClient(timeout_s=None) as client:
        yield Remote(client)


@asynccontextmanager
async def _local(settings: Settings) -> AsyncGenerator[Speaker]:
    from ollama_tts.cli.local import Local
    from ollama_tts.node import Node

    async with Node(settings) as node:
        yield Local(node)


async def make_sure_of(speaker: Speaker, model: str) -> None:
    """Fetch the model if it is not there, as `ollama run` does.

    Raises:
        OllamaTTSError: It is not there and cannot be had.
    """
    try:
        await speaker.model_format(model)
    except NotFound:
        with ProgressLines(sys.stderr) as progress:
            await speaker.pull(model, progress)


class Remote:
    """Speaks through a server."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    @property
    def where(self) -> str:
        """See `Speaker.where`."""
        return self._client.url

    async def model_format(self, model: str) -> str:
        """See `Speaker.model_format`."""
        return (await self._client.show(model)).details.format

    async def pull(self, model: str, on_progress: OnProgress) -> None:
        """See `Speaker.pull`."""
        await self._client.pull(model, on_progress)

    async def speak(self, job: Job) -> Sound:
        """See `Speaker.speak`. Text that comes in parts is asked for stretch by stretch."""
        if isinstance(job.text, str):
            sound: Sound = self._ask(job, job.text, job.options, whole=job.whole)
        else:
            from ollama_tts.cli.stretches import joined

            sound = joined(job, job.text, lambda text, options: self._ask(job, text, options))
        async with aclosing(sound) as events:
            async for event in events:
                yield event

    def _ask(
        self, job: Job, text: str, options: Mapping[str, object], *, whole: bool = False
    ) -> Sound:
        asked = Asked(text, job.model, options, keep_alive=job.keep_alive, whole=whole)
        return self._client.events(asked)
