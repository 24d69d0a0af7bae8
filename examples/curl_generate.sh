#!/bin/sh
# Speak one text with nothing but curl. `Accept` chooses a plain audio file instead of JSON lines;
# it arrives while it is spoken.
#
#   examples/curl_generate.sh hello.mp3
set -eu
server="http://${OLLAMA_HOST:-127.0.0.1:11434}"

curl --fail-with-body --silent --show-error --no-buffer "$server/api/generate" \
  --header 'Accept: audio/mpeg' \
  --data '{"model": "hibari", "prompt": "Hello. This arrives while it is spoken."}' \
  --output "${1:-hello.mp3}"
