"""Groups of commands: one module a group."""
