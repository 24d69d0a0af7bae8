"""`Settings`: every environment variable, read in `environment` and nowhere else."""

from ollama_tts.config.address import Address, parse_address
from ollama_tts.config.api_keys import ApiKey
from ollama_tts.config.durations import FOREVER_S, go_duration_s
from ollama_tts.config.environment import client_key, let_threads_sleep
from ollama_tts.config.roads import Certificate, Credentials, Proxies
from ollama_tts.config.settings import MAX_JSON_BYTES, MAX_PASSED_BYTES, Settings
from ollama_tts.config.variables import VARIABLES, Variable

__all__ = [
    "FOREVER_S",
    "MAX_JSON_BYTES",
    "MAX_PASSED_BYTES",
    "VARIABLES",
    "Address",
    "ApiKey",
    "Certificate",
    "Credentials",
    "Proxies",
    "Settings",
    "Variable",
    "client_key",
    "go_duration_s",
    "let_threads_sleep",
    "parse_address",
]
