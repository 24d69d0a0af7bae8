"""Speaking: what an utterance is, and who speaks which one next. No torch in here."""
