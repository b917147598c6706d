"""Runs the server: its port, its database, its worker, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TextIO

import uvicorn

from server.app import create_app
from server.database import bring_up_to_date, database
from server.errors import AlreadyRunningError, PortInUseError, WorkersError
from server.jobs.statements import migrate_jobs
from server.settings import Settings
from server.signals import stop_on_signal
from server.supervisor import WorkerProcess

log = logging.getLogger(__name__)


def serve(settings: Settings, *, with_worker: bool = True) -> None:
    """Serves until SIGINT or SIGTERM, then stops the worker and the embedded database.

    Raises AlreadyRunningError if a server uses the data folder, PortInUseError if the address is
    taken, DatabaseError if there is no database to be had.
    """
    with _alone(settings) as note, _listening(settings) as listener:
        url = _url(settings.host, listener.getsockname()[1])
        note(url)
        with database(settings) as conninfo:
            asyncio.run(_serve(settings, conninfo, listener, url, with_worker=with_worker))


async def _serve(
    settings: Settings, conninfo: str, listener: socket.socket, url: str, *, with_worker: bool
) -> None:
    await bring_up_to_date(conninfo, by=migrate_jobs)
    if settings.jobs_drain is None:
        settings = settings.model_copy(update={"jobs_drain": not with_worker})
    stop_drain = asyncio.Event()
    config = uvicorn.Config(
        create_app(settings, conninfo, stop=stop_drain, wakes_jobs=settings.jobs == "on"),
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config, url)
    worker = WorkerProcess(settings, conninfo)

    def at_once() -> None:
        server.force_exit = True
        worker.kill()

    async with stop_on_signal(at_once) as stop, _on_set(stop, stop_drain.set):
        beside = asyncio.create_task(worker.run(stop)) if with_worker else None
        await server.serve_until(stop, listener)
        if beside is not None:
            await beside
    if not server.started:
        raise WorkersError("The server could not start; the log says why.")


class _Server(uvicorn.Server):
    """Uvicorn without its signal handling, which would end the process before we clean up."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            log.info("ready at %s", self._url, extra={"action": "ready", "url": self._url})

    async def serve_until(self, stop: asyncio.Event, listener: socket.socket) -> None:
        """Serves until `stop` is set; sets it when it ends by itself, or cannot even start."""
        try:
            async with _on_set(stop, self._leave):
                await self.serve(sockets=[listener])
        finally:
            stop.set()

    def _leave(self) -> None:
        self.should_exit = True


@contextlib.asynccontextmanager
async def _on_set(event: asyncio.Event, act: Callable[[], None]) -> AsyncIterator[None]:
    async def wait() -> None:
        await event.wait()
        act()

    task = asyncio.create_task(wait())
    try:
        yield
    finally:
        task.cancel()


def _url(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - compared only
    return f"http://{f'[{shown}]' if ':' in shown and shown[0] != '[' else shown}:{port}"


@contextlib.contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """Binds the address before anything slow is started, so that a port in use is said at once."""
    host, port = settings.host.strip("[]"), settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(
                f"port {port} on {host} is in use",
                hint=f"Choose another one: workers serve --port {port + 1}, "
                f'or make run ARGS="--port {port + 1}"',
            ) from error
        raise PortInUseError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="Set WORKERS_HOST and WORKERS_PORT.",
        ) from error
    with listener:
        yield listener


class _Note:
    """Writes into the lock file where we can be reached, for whoever finds it locked."""

    def __init__(self, lock: TextIO | None) -> None:
        self._lock = lock

    def __call__(self, url: str) -> None:
        if self._lock is not None:
            self._lock.seek(0)
            self._lock.truncate()
            self._lock.write(url)
            self._lock.flush()


@contextlib.contextmanager
def _alone(settings: Settings) -> Iterator[_Note]:
    """Makes sure that this is the only server on the data folder; the kernel drops the lock."""
    if settings.database_url is not None:
        yield _Note(None)
        return
    folder: Path = settings.data_dir
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            where = lock.read().strip()
            raise AlreadyRunningError(
                f"a server already runs on {folder}" + (f", at {where}" if where else ""),
                hint="Stop it first, or set WORKERS_DATA_DIR to another folder.",
            ) from None
        yield _Note(lock)
