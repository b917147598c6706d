"""`report_pdf`: the queue's day on a page or two."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from server.engines import Engine, JobView, TaskJob
from server.redisq.model import State
from server.tasks.files import MEDIA_TYPES, KeptFiles

MOST_JOBS = 40


def report_pdf(engine: Engine, files: KeptFiles) -> Callable[[TaskJob], Awaitable[Any]]:
    """The task. Its result names the file, which is kept as long as others are."""

    async def run(job: TaskJob) -> dict[str, Any]:
        del job
        depth = await engine.depth()
        ended = [*await engine.ended("dead", MOST_JOBS), *await engine.ended("done", MOST_JOBS)]
        data = await asyncio.to_thread(_rendered, depth, ended, datetime.now(UTC))
        name = await asyncio.to_thread(files.put, data, "pdf")
        return {"file": name, "bytes": len(data), "media_type": MEDIA_TYPES["pdf"]}

    return run


def _rendered(depth: Mapping[State, int], ended: Sequence[JobView], now: datetime) -> bytes:
    from server.tasks.report import render  # noqa: PLC0415 - takes long to import; few need it

    return render(depth, ended, now)
