"""Text for speech: from what people write to what a voice can say, every character accounted for."""
