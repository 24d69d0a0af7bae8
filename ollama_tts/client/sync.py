"""`Client`: blocking calls over one pool of connections."""

import builtins
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from ollama_tts.client import models, speech
from ollama_tts.client.call import Call, Lines, Target, answer, failure, lost
from ollama_tts.client.create import OnProgress, Upload, plan
from ollama_tts.client.retry import Backoff
from ollama_tts.client.speech import Asked, SpeechChunk, SpeechEnd
from ollama_tts.errors import NotFound, OllamaTTSError
from ollama_tts.protocol.ollama import (
    ListedModel,
    ListResponse,
    ProcessResponse,
    ProgressResponse,
    RunningModel,
    ShowResponse,
    VersionResponse,
)
from ollama_tts.protocol.sounds import CacheResponse


class Client:
    """A server, and a pool of connections to it. A context manager; threads may share it.

    `host` is an OLLAMA_HOST value, None reads the environment; `api_key` likewise
    OLLAMA_TTS_API_KEY. `timeout_s` bounds the silence between two pieces of an answer, None does
    not. All methods raise the classes of `ollama_tts.errors`; a full queue and a failed
    connection are tried again as `backoff` says, as long as nothing has been handed out.
    `sleep` waits between tries.
    """

    def __init__(
        self,
        host: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float | None = 600.0,
        connections: int = 64,
        backoff: Backoff | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._target = Target.choose(host, api_key)
        self._backoff = backoff or Backoff()
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=self._target.address.client_url,
            headers=self._target.headers,
            timeout=httpx.Timeout(timeout_s, connect=10.0, pool=None),
            limits=httpx.Limits(max_connections=connections),
            trust_env=self._target.trust_env,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def url(self) -> str:
        """The server's address, `http://127.0.0.1:11434`."""
        return self._target.address.client_url

    def synthesize(
        self,
        text: str,
        model: str | None = None,
        *,
        system: str | None = None,
        keep_alive: float | str | None = None,
        **options: object,
    ) -> bytes:
        """The sound of `text` as one file, by default a WAV file.

        `model` None is $OLLAMA_TTS_DEFAULT_MODEL, else `hibari`. `options` are those of
        docs/options.md: `voice="…"`, `speed=1.2`, `audio_format="mp3"` …

        Raises:
            OllamaTTSError: The server refuses or fails; see `ollama_tts.errors`.
        """
        asked = Asked(text, self._model(model), options, system, keep_alive, whole=True)
        return speech.whole(self._read(asked.call()))

    def stream(
        self,
        text: str,
        model: str | None = None,
        *,
        system: str | None = None,
        keep_alive: float | str | None = None,
        **options: object,
    ) -> Generator[bytes]:
        """The same file as `synthesize` gives, in pieces as they are spoken.

        A WAV header that is sent before the length is known carries the size 0xFFFFFFFF.

        Raises:
            OllamaTTSError: As `synthesize`; after the first piece also GenerationFailed.
        """
        asked = Asked(text, self._model(model), options, system, keep_alive)
        with closing(self.events(asked)) as events:
            for event in events:
                if isinstance(event, SpeechChunk) and event.data:
                    yield event.data

    def speak(
        self,
        text: str,
        model: str | None = None,
        *,
        system: str | None = None,
        keep_alive: float | str | None = None,
        **options: object,
    ) -> Generator[SpeechChunk | SpeechEnd]:
        """As `stream`, with the place and the text of each piece, and the figures at the end.

        Raises:
            OllamaTTSError: As `stream`.
        """
        return self.events(Asked(text, self._model(model), options, system, keep_alive))

    def events(self, asked: Asked) -> Generator[SpeechChunk | SpeechEnd]:
        """As `speak`, for a request that is put together already.

        Raises:
            OllamaTTSError: As `stream`.
        """
        with closing(self._lines(asked.call())) as lines:
            for line in lines:
                for event in speech.events(line):
                    yield event
                    if isinstance(event, SpeechEnd):
                        return
        raise speech.unfinished()

    def batch(
        self,
        texts: Sequence[str],
        model: str | None = None,
        *,
        concurrency: int = 8,
        **options: object,
    ) -> builtins.list[bytes]:
        """The sound of each text as a file, in the order of the texts.

        `concurrency` texts are under way at once.

        Raises:
            BatchFailed: Some failed; it holds the others' sound, and each failure's cause.
        """

        def one(text: str) -> bytes | OllamaTTSError:
            call = Asked(text, self._model(model), options, whole=True).call()
            try:
                return speech.whole(self._read(call))
            except OllamaTTSError as error:
                return error

        with ThreadPoolExecutor(max_workers=max(1, concurrency)) as pool:
            return speech.settle(tuple(pool.map(one, texts)))

    def list(self) -> Sequence[ListedModel]:
        """The stored models, newest first."""
        return answer(self._read(Call("GET", "/api/tags")), ListResponse).models

    def ps(self) -> Sequence[RunningModel]:
        """The loaded models, latest expiry first."""
        return answer(self._read(Call("GET", "/api/ps")), ProcessResponse).models

    def show(self, model: str, *, verbose: bool = False) -> ShowResponse:
        """What is known of one model; with `verbose` its tensors too.

        Raises:
            NotFound: There is none of that name.
        """
        return answer(self._read(models.show(model, verbose=verbose)), ShowResponse)

    def copy(self, source: str, destination: str) -> None:
        """Give a model a second name.

        Raises:
            NotFound: There is no `source`.
        """
        self._read(models.copy(source, destination))

    def delete(self, model: str) -> None:
        """Remove a model's name, and its files where no other name needs them.

        Raises:
            NotFound: There is none of that name.
        """
        self._read(models.named("DELETE", "/api/delete", model))

    def stop(self, model: str) -> None:
        """Unload a model; what it is speaking ends first.

        Raises:
            NotFound: There is none of that name.
        """
        self._read(models.unload(model))

    def version(self) -> str:
        """The server's version."""
        return answer(self._read(Call("GET", "/api/version")), VersionResponse).version

    def speaks(self) -> bool:
        """Whether the server is of this kind; a server of another may know the same protocol.

        Raises:
            Unreachable: Nothing answers.
        """
        try:
            self._read(Call("GET", "/healthz"))
        except NotFound:
            return False
        return True

    def pull(
        self, model: str, on_progress: OnProgress | None = None, *, insecure: bool = False
    ) -> None:
        """Fetch a model; `insecure` allows http to the registry that the name names.

        Raises:
            OllamaTTSError: It cannot be had; the server's own words.
        """
        self._progress(models.transfer("pull", model, insecure=insecure), on_progress)

    def push(
        self, model: str, on_progress: OnProgress | None = None, *, insecure: bool = False
    ) -> None:
        """Send a model to its registry; `insecure` allows http to it.

        Raises:
            OllamaTTSError: The server or the registry refuses.
        """
        self._progress(models.transfer("push", model, insecure=insecure), on_progress)

    def warm(
        self,
        texts: Sequence[str],
        model: str | None = None,
        on_progress: OnProgress | None = None,
        **options: object,
    ) -> None:
        """Have texts spoken into the server's audio cache, so that they are there at once later.

        `options` are those of the later requests.

        Raises:
            OllamaTTSError: The server refuses, or some texts could not be spoken.
        """
        self._progress(models.warm(self._model(model), texts, options), on_progress)

    def forget(self, model: str | None = None) -> CacheResponse:
        """Empty the server's audio cache, or of one model's sounds; gives what that freed.

        Raises:
            NotFound: There is no model of that name.
        """
        return answer(self._read(models.forget(model)), CacheResponse)

    def create(
        self,
        model: str,
        modelfile: str | Path,
        *,
        quantize: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Make a model from a Modelfile: its text, or the path of a file.

        Files that it names are looked for beside the file (for a text: in the current folder)
        and uploaded where the server lacks them.

        Raises:
            InvalidModelfile: It does not parse, or names a file that is not there.
            OllamaTTSError: The server refuses.
        """
        made = plan(model, modelfile, quantize)
        if on_progress is not None:
            for warning in made.warnings:
                on_progress(ProgressResponse(status=warning))
        for upload in made.uploads:
            self._upload(upload, on_progress)
        self._progress(made.call, on_progress)

    def _model(self, model: str | None) -> str:
        return model or self._target.default_model

    def _progress(self, call: Call, on_progress: OnProgress | None) -> None:
        done = False
        with closing(self._lines(call)) as lines:
            for line in lines:
                progress = models.progress(line)
                done = progress.status == "success"
                if on_progress is not None:
                    on_progress(progress)
        if not done:
            raise models.unfinished()

    def _upload(self, upload: Upload, on_progress: OnProgress | None) -> None:
        try:
            self._read(upload.question)
        except NotFound:
            with upload.path.open("rb") as file:
                self._read(upload.call, lambda: upload.pieces(file, on_progress))

    def _read(self, call: Call, content: Callable[[], Iterator[bytes]] | None = None) -> bytes:
        with self._open(call, content) as response:
            try:
                return response.read()
            except httpx.TransportError as error:
                raise lost(error, self._target.address) from error

    def _lines(self, call: Call) -> Generator[bytes]:
        lines = Lines()
        with self._open(call) as response:
            try:
                for data in response.iter_bytes():
                    yield from lines.feed(data)
            except httpx.TransportError as error:
                raise lost(error, self._target.address) from error
        yield from lines.finish()

    @contextmanager
    def _open(
        self, call: Call, content: Callable[[], Iterator[bytes]] | None = None
    ) -> Generator[httpx.Response]:
        """A successful answer whose body is still to be read; failures are tried again."""
        attempt = 0
        while isinstance(response := self._try(call, content), OllamaTTSError):
            delay_s = self._backoff.delay_s(attempt, response)
            if delay_s is None:
                raise response
            attempt += 1
            self._sleep(delay_s)
        with closing(response):
            yield response

    def _try(
        self, call: Call, content: Callable[[], Iterator[bytes]] | None
    ) -> httpx.Response | OllamaTTSError:
        body = call.body if content is None else content()
        request = self._http.build_request(
            call.method, call.path, content=body, headers=call.headers
        )
        try:
            response = self._http.send(request, stream=True)
            if response.is_success:
                return response
            with closing(response):
                response.read()
        except httpx.TransportError as error:
            return lost(error, self._target.address)
        return failure(response)
