#!/bin/sh
# What ollama-tts writes to a pipe is the audio file itself, sent as it is spoken: any player that
# reads standard input starts with the first sentence.
#
#   examples/pipe_to_player.sh "Good morning."
#   PLAYER="aplay -q" examples/pipe_to_player.sh
set -eu
text="${1:-The player starts with the first sentence. The second one is still being made.}"

ollama-tts run hibari "$text" | ${PLAYER:-ffplay -nodisp -autoexit -loglevel error -i pipe:0}
