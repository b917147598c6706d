"""Runs the command line as `python -m server`."""

from server.cli import app

app(prog_name="workers")
