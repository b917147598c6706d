"""Servers of the tests: Valkey from its wheel, and the machine's Redis."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError
from redis.exceptions import ConnectionError as ServerAwayError
from redis.retry import Retry

from server.embedded_valkey import valkey_program

PATIENCE_S = 60.0
PROGRAMS = {
    "valkey": str(valkey_program()),
    "redis": shutil.which(os.environ.get("REDIS_SERVER", "redis-server")),
}


class Server:
    """A server of its own folder that can be stopped, killed and started again."""

    def __init__(self, engine: str, folder: Path, *options: str) -> None:
        self.folder = folder
        self.socket = str(folder / "s")
        self._program = PROGRAMS[engine]
        self._options = options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return once it answers."""
        assert self._program
        arguments = ["--port", "0", "--unixsocket", self.socket, "--dir", str(self.folder)]
        arguments += ["--logfile", str(self.folder / "log"), "--save", ""]
        self.process = subprocess.Popen(
            [self._program, *arguments, *self._options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self.process.poll() is None, (self.folder / "log").read_text("utf-8")
            assert time.monotonic() < deadline, "it does not answer"
            time.sleep(0.01)  # nobody tells

    def _answers(self) -> bool:
        """Whether it does; no if it still reads its file."""
        # redis-py's own retries differ between the releases that are supported.
        once = Retry(NoBackoff(), 0)
        try:
            with Redis(unix_socket_path=self.socket, retry=once) as client:
                return bool(client.ping())
        except (ServerAwayError, BusyLoadingError):
            return False

    def stop(self) -> None:
        """End it in order, with everything written."""
        assert self.process
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """End it without letting it say or write anything."""
        assert self.process
        self.process.kill()
        self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def server(engine: str, *options: str, start: bool = True) -> Iterator[Server]:
    """Lend a server; `options` are its command line's, such as --appendonly yes."""
    with tempfile.TemporaryDirectory(prefix="rq-") as name:
        made = Server(engine, Path(name), *options)
        if start:
            made.start()
        try:
            yield made
        finally:
            if made.process and made.process.poll() is None:
                made.kill()
