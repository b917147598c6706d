"""What the workers of the Redis queue can do, by name."""

from __future__ import annotations

from server.engines import Engine
from server.outbox import Connect
from server.redisq import Tasks
from server.settings import Settings
from server.tasks.files import KeptFiles
from server.tasks.names import FROM_HANDLERS, REPORT_PDF, WELCOME_EMAIL

__all__ = ["new_tasks"]


def new_tasks(settings: Settings, engine: Engine, connect: Connect | None) -> Tasks:
    """The tasks that a worker with these means can run.

    Without a database there is no `welcome_email`: it waits for a worker that has one. Plain
    functions run in threads, coroutines in the worker's loop.
    """
    from server.tasks.from_handlers import from_handlers  # noqa: PLC0415 - NumPy and Pillow
    from server.tasks.report_pdf import report_pdf  # noqa: PLC0415 - for a worker alone
    from server.tasks.welcome_email import welcome_email  # noqa: PLC0415 - the same

    files = KeptFiles.of(settings)
    tasks = Tasks()
    for name in FROM_HANDLERS:
        tasks.task(name)(from_handlers(name, files))
    tasks.task(REPORT_PDF)(report_pdf(engine, files))
    if connect is not None:
        tasks.task(WELCOME_EMAIL)(welcome_email(settings, connect))
    return tasks
