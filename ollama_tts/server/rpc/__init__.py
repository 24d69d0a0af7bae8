"""The gRPC door (extra `grpc`): the same conversation as the WebSocket's, in protobuf."""
