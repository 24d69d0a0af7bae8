"""The wire: structs of each API, and bytes to structs and back. No I/O."""
