"""tone: a diagnostic voice without weights; a program can read back what it said."""
