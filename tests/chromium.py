"""The browser that tests and benchmarks drive, and how it is started."""

import os

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
"""Path of the program; `make test` installs it where there is none."""

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

INTERPRETING = "--js-flags=--no-opt --no-maglev --no-sparkplug"
"""One more: nothing is compiled, so that the heap holds what the scripts keep and nothing else."""
