"""Voice `kokoro`: Chinese, English and Japanese on a CPU (extra `[kokoro]`)."""
