"""The doors: HTTP over a node, and the process that serves it."""
