"""A hundred callers who vanish at random moments, and nothing of them that stays."""

import random

import grpc

from ollama_tts.protocol.pb.tts_pb2 import CANCEL, END, FLUSH
from tests.support.rpc import Rpc, Stream, heard

CALLERS = 100
TEXT = "One of many sentences that hardly anybody hears to its end. " * 5


def vanish(rpc: Rpc, choice: random.Random) -> None:
    """One caller: some requests, some responses, and a way to go."""
    port = rpc.doors.open["grpc"].address.port
    own = (("grpc.use_local_subchannel_pool", 1),)
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", own)
    stream = Stream(channel, timeout=choice.choice([None, 30, 0.05]))
    rate = choice.choice(["0", "0.5"])
    stream.send(model="tone", options={"tone_rate": rate, "cache": "false"})
    for _ in range(choice.randrange(3)):
        control = choice.choice([FLUSH, END, CANCEL])
        stream.send(text=TEXT[: choice.randrange(1, len(TEXT))], control=control)
    if choice.random() < 0.3:
        stream.close()
    if choice.random() < 0.5:
        stream.call.cancel()
    channel.close()


def test_a_hundred_callers_vanish(own_rpc: Rpc) -> None:
    choice = random.Random(20)
    for _ in range(CALLERS):
        vanish(own_rpc, choice)
    own_rpc.live.until(lambda node: node.scheduler.active == node.scheduler.queue_depth == 0)
    assert own_rpc.live.metric("ollama_tts_utterances_active") == 0
    assert heard([*own_rpc.stream(text="still here").close()]).replace(" ", "") == "stillhere"
    own_rpc.live.run(own_rpc.drain)
    own_rpc.live.run(own_rpc.doors.open["grpc"].aclose)  # returns once no stream is left
