"""Runs the server: its port, its databases, its workers, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import uvicorn
from redis.exceptions import RedisError

from server.app import create_app
from server.database import bring_up_to_date, database
from server.engines import check_installed
from server.errors import AlreadyRunningError, PortInUseError, RedisServerError, WorkersError
from server.jobs.statements import migrate_jobs
from server.redis_server import redis_server
from server.redisq import WorkerOptions
from server.settings import Settings
from server.signals import stop_on_signal
from server.supervisor import WorkerProcess

log = logging.getLogger(__name__)

QUEUE_GRACE_S = WorkerOptions().grace_s


def serve(settings: Settings, *, with_worker: bool = True, with_queue: bool = True) -> None:
    """Serves until SIGINT or SIGTERM, then stops the workers and the embedded servers.

    A queue of jobs that cannot be had is said in the log, and everything else goes on without it.
    Raises AlreadyRunningError if a server uses the data folder, PortInUseError if the address is
    taken, DatabaseError if there is no database to be had, SettingsError for an engine of the queue
    that is not installed.
    """
    if with_queue:
        check_installed(settings)
    with _alone(settings) as note, _listening(settings) as listener:
        url = _url(settings.host, listener.getsockname()[1])
        note(url)
        with database(settings) as conninfo, queue_server(settings, wanted=with_queue) as queue:
            # Whoever uses these settings finds the server that runs, or none.
            here = settings.model_copy(update={"redis_url": queue})
            workers = _workers(here, conninfo) if with_worker else []
            asyncio.run(_serve(here, conninfo, listener, url, workers))


@contextlib.contextmanager
def queue_server(settings: Settings, *, wanted: bool) -> Iterator[str | None]:
    """Lends the URL of the server for the queue of jobs; None if there is none, as the log says."""
    with contextlib.ExitStack() as lent:
        url = None
        if wanted:
            try:
                url = lent.enter_context(redis_server(settings))
            except (RedisServerError, RedisError, OSError) as error:
                log.error(  # noqa: TRY400 - the message says it, a traceback would only hide it
                    "there is no queue of jobs, and everything else goes on: %s",
                    error,
                    extra={"action": "queue-off"},
                )
        yield url


def _workers(settings: Settings, conninfo: str) -> list[WorkerProcess]:
    """One for the outbox and, if there is a server for it, one for the queue of jobs."""
    environment = {
        "DATABASE_URL": conninfo,
        # An empty one counts as none.
        "REDIS_URL": settings.redis_url or "",
        "WORKERS_DATA_DIR": str(settings.data_dir.resolve()),
    }
    outbox = WorkerProcess(
        "work", environment=environment, grace_s=settings.policy().stop_s + 10, of="outbox"
    )
    if settings.redis_url is None:
        return [outbox]
    queue = WorkerProcess(
        *("queue", "work"), environment=environment, grace_s=QUEUE_GRACE_S + 10, of="queue"
    )
    return [outbox, queue]


async def _serve(
    settings: Settings,
    conninfo: str,
    listener: socket.socket,
    url: str,
    workers: Sequence[WorkerProcess],
) -> None:
    await bring_up_to_date(conninfo, by=migrate_jobs)
    if settings.jobs_drain is None:
        settings = settings.model_copy(update={"jobs_drain": not workers})
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

    def at_once() -> None:
        server.force_exit = True
        for worker in workers:
            worker.kill()

    async with stop_on_signal(at_once) as stop, _on_set(stop, stop_drain.set):
        beside = [asyncio.create_task(worker.run(stop)) for worker in workers]
        await server.serve_until(stop, listener)
        await asyncio.gather(*beside)
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
