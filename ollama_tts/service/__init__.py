"""What the server does, without a port: speak, list, show, create, pull. Doors call these."""
