"""ChatTTS: text and a voice to codes to sound, many utterances at once."""
