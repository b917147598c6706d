"""The queue that runs this project's jobs, behind one small port: ours, or BullMQ's."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from types import ModuleType

from server.engines.port import Engine, EngineAwayError, EngineWorker, JobView, TaskJob
from server.engines.redisq_engine import redisq_engine, redisq_worker
from server.errors import SettingsError
from server.redisq import Tasks
from server.settings import Settings

__all__ = [
    "Engine",
    "EngineAwayError",
    "EngineWorker",
    "JobView",
    "TaskJob",
    "check_installed",
    "open_engine",
    "open_worker",
]


def _bullmq() -> ModuleType:
    try:
        return import_module("server.engines.bullmq_engine")
    except ModuleNotFoundError as error:
        if error.name != "bullmq":
            raise
        raise SettingsError(
            "WORKERS_QUEUE_ENGINE is bullmq, and that package is not installed",
            hint="Install it: .venv/bin/pip install -e '.[bullmq]'",
            exit_code=2,
        ) from error


def check_installed(settings: Settings) -> None:
    """Raises SettingsError, which says how to install it, if the engine of the settings is not."""
    if settings.queue_engine == "bullmq":
        _bullmq()


def open_engine(settings: Settings, url: str) -> AbstractAsyncContextManager[Engine]:
    """Lends the queue of the settings on the server at `url`, which need not be there yet.

    Raises SettingsError if the engine is not installed.
    """
    if settings.queue_engine == "bullmq":
        engine: AbstractAsyncContextManager[Engine] = _bullmq().bullmq_engine(
            url, settings.queue_name
        )
        return engine
    return redisq_engine(url, settings.queue_name)


def open_worker(
    settings: Settings, url: str, tasks: Tasks
) -> AbstractAsyncContextManager[EngineWorker]:
    """Lends a worker for that queue.

    Raises SettingsError if the engine is not installed, RedisServerError if the server is away.
    """
    name, concurrency = settings.queue_name, settings.queue_concurrency
    if settings.queue_engine == "bullmq":
        worker: AbstractAsyncContextManager[EngineWorker] = _bullmq().bullmq_worker(
            url, name, tasks, concurrency=concurrency
        )
        return worker
    return redisq_worker(url, name, tasks, concurrency=concurrency)
