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
