"""The page with everything behind it, as `workers serve` shows it."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.server.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def live_server(data: Path, site: Path, *arguments: str, **settings: str) -> Iterator[str]:
    """Run a server with its own database and one worker; give its address, ending in a slash.

    `settings` are environment variables.
    """
    server = Program(
        "serve",
        "--port",
        "0",
        *arguments,
        WORKERS_DATA_DIR=os.fspath(data),
        WORKERS_SITE=os.fspath(site),
        **settings,
    )
    try:
        yield f"{server.until('ready')['url']}/"
        server.signal(signal.SIGINT)
        server.ended()
    finally:
        server.close()
