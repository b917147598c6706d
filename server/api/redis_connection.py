"""Lends the Redis server, the queue of jobs on it, and the files of jobs to an operation."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request
from redis.asyncio import Redis

from server.engines import Engine
from server.problems import ProblemError
from server.tasks.files import KeptFiles

_NONE = "This server has no queue of jobs: it was started without one, or its log says why not."


def redis_of(request: Request) -> Redis:
    """The client of the Redis server. Raises a problem if there is none."""
    client: Redis | None = request.app.state.redis
    if client is None:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, _NONE)
    return client


def engine_of(request: Request) -> Engine:
    """The queue of jobs. Raises a problem if there is none."""
    engine: Engine | None = request.app.state.engine
    if engine is None:
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, _NONE)
    return engine


def files_of(request: Request) -> KeptFiles:
    """The files that jobs read and write."""
    files: KeptFiles = request.app.state.files
    return files


LentRedis = Annotated[Redis, Depends(redis_of)]
LentEngine = Annotated[Engine, Depends(engine_of)]
LentFiles = Annotated[KeptFiles, Depends(files_of)]
