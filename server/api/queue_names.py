"""Opens a queue on Redis by its name, for an operation."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, FastAPI, Path
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.api.connection import Configured
from server.api.redis_connection import LentRedis
from server.problems import ProblemError
from server.redisq import Look, Queue, look_at, queue_names
from server.settings import Settings

PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$"
Name = Annotated[str, Path(pattern=PATTERN, description="the queue's name")]
JobId = Annotated[str, Path(pattern=PATTERN, description="the job's id")]


async def known_queues(redis: Redis, settings: Settings) -> list[Queue]:
    """The queues that this server or any worker or client has opened, by name."""
    names = {settings.queue_name, *await queue_names(redis)}
    return [Queue(redis, name) for name in sorted(names)]


async def queues_or_none(app: FastAPI) -> list[Look] | None:
    """A look at each; None where there is no server, and while it is away."""
    if app.state.redis is None:
        return None
    try:
        queues = await known_queues(app.state.redis, app.state.settings)
        return list(await asyncio.gather(*map(look_at, queues)))
    except (RedisError, OSError):
        return None


async def open_queue(redis: LentRedis, settings: Configured, name: Name) -> Queue:
    """The queue of that name. Raises a problem if nobody has ever opened one."""
    if name != settings.queue_name and name not in await queue_names(redis):
        raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no queue {name}.")
    return Queue(redis, name)


Opened = Annotated[Queue, Depends(open_queue)]
