"""gRPC messages, made from tts.proto by protoc; do not edit what is made.

python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. --grpc_python_out=. \
    ollama_tts/protocol/pb/tts.proto
"""
