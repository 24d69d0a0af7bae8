"""Sound: samples, pauses, sample rates, containers. No model, no port."""
