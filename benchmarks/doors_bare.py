"""The limit for `benchmarks/doors.py`: bare starlette and grpc.aio streams of recorded chunks.

    python benchmarks/doors_bare.py FOLDER HTTP_PORT GRPC_PORT

`FOLDER/DOOR` holds one answer's chunks, each after its length in four bytes. Every request to
`/DOOR`, and every call of the one gRPC method, is answered with them and with nothing else done.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

METHOD = ("ollama_tts.v1.Tts", "Synthesize")


def chunks_in(path: Path) -> list[bytes]:
    data = path.read_bytes()
    chunks = []
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        chunks.append(data[4:end])
        data = data[end:]
    return chunks


def application(recorded: dict[str, list[bytes]]) -> Starlette:
    async def stream(request: Request) -> StreamingResponse:
        await request.body()

        async def body() -> AsyncIterator[bytes]:
            for chunk in recorded[request.path_params["door"]]:
                yield chunk

        return StreamingResponse(body(), media_type="application/octet-stream")

    async def talk(socket: WebSocket) -> None:
        await socket.accept()
        while (await socket.receive())["type"] != "websocket.disconnect":
            for chunk in recorded["websocket"]:
                if chunk.startswith(b"{"):
                    await socket.send_text(chunk.decode())
                else:
                    await socket.send_bytes(chunk)

    routes = [Route("/{door}", stream, methods=["POST"]), WebSocketRoute("/websocket", talk)]
    return Starlette(routes=routes)


class Bare(grpc.GenericRpcHandler):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        del details
        return grpc.stream_stream_rpc_method_handler(self._answer)

    async def _answer(self, requests: object, context: grpc.aio.ServicerContext) -> None:
        del requests
        await context.read()
        for chunk in self._chunks:
            await context.write(chunk)


async def main(recorded: dict[str, list[bytes]], http_port: int, grpc_port: int) -> None:
    rpc = grpc.aio.server(maximum_concurrent_rpcs=4096)
    rpc.add_generic_rpc_handlers((Bare(recorded.get("grpc", [])),))
    rpc.add_insecure_port(f"127.0.0.1:{grpc_port}")
    await rpc.start()
    config = uvicorn.Config(
        application(recorded),
        port=http_port,
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
    )
    await uvicorn.Server(config).serve()
    await rpc.stop(None)


if __name__ == "__main__":
    answers = {path.name: chunks_in(path) for path in Path(sys.argv[1]).iterdir()}
    asyncio.run(main(answers, int(sys.argv[2]), int(sys.argv[3])))
