#!/bin/sh
# Speak what another program writes, while it is still writing: each sentence is spoken as soon as
# it is complete. A language model does well as the other program:
#
#   ollama run llama3.2 "Tell me a story." | examples/speak_as_written.sh story.wav
set -eu

ollama-tts run hibari -o "${1:-spoken.wav}"
