"""What a client that knows nothing finds: health, and the service's own description."""

from typing import Any

import grpc
import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from tests.support.rpc import Rpc, heard_opus


def test_a_client_that_knows_only_the_address_can_speak(rpc: Rpc) -> None:
    database = ProtoReflectionDescriptorDatabase(rpc.channel)
    assert set(database.get_services()) == {
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        "ollama_tts.v1.Tts",
    }
    service = DescriptorPool(database).FindServiceByName("ollama_tts.v1.Tts")
    method = service.methods_by_name["Synthesize"]
    assert method.client_streaming
    assert method.server_streaming
    ask, answer = (GetMessageClass(kind) for kind in (method.input_type, method.output_type))
    call = rpc.channel.stream_stream(
        f"/{service.full_name}/{method.name}",
        request_serializer=ask.SerializeToString,
        response_deserializer=answer.FromString,
    )
    request = ask(model="tone", text="found", options={"pause_ms": "0"})
    assert heard_opus([*call(iter([request]), timeout=60)]) == "found"


def test_health_tells_when_the_server_leaves(own_rpc: Rpc) -> None:
    health: Any = HealthStub(own_rpc.channel)
    for name in ("", "ollama_tts.v1.Tts"):
        answer = health.Check(HealthCheckRequest(service=name))
        assert answer.status == HealthCheckResponse.SERVING
    watched = health.Watch(HealthCheckRequest(service=""))
    assert next(watched).status == HealthCheckResponse.SERVING
    own_rpc.live.run(own_rpc.drain)
    assert next(watched).status == HealthCheckResponse.NOT_SERVING


def test_an_unknown_method_is_unimplemented(rpc: Rpc) -> None:
    call: Any = rpc.channel.unary_unary("/ollama_tts.v1.Tts/Sing")
    with pytest.raises(grpc.RpcError) as refused:
        call(b"")
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
