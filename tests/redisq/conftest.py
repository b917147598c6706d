"""A real Valkey and a real Redis for whatever is tested of the queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from server.redisq import Queue
from tests.redisq.hand import Hand, assert_sound
from tests.redisq.servers import PROGRAMS, Server, server
from tests.redisq.work import PATIENCE_S

BOTH = {
    "test_enqueue",
    "test_turn",
    "test_turn_claims",
    "test_heartbeat",
    "test_operate",
    "test_purge",
    "test_repeat",
}
"""The files that are about scripts, and so run on both engines."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Say for each test with a server on which it runs."""
    if "engine" in metafunc.fixturenames:
        name = metafunc.module.__name__.rpartition(".")[2]
        engines = ["valkey", "redis"] if name in BOTH else ["valkey"]
        metafunc.parametrize("engine", engines, indirect=True, scope="session")


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine."""
    if not PROGRAMS[request.param]:
        pytest.fail("there is no redis-server here; make test installs it where it may")
    return str(request.param)


@pytest.fixture(scope="session")
def redis_server(engine: str) -> Iterator[Server]:
    """A server that many tests share."""
    with server(engine) as made:
        yield made


def client_of(made: Server, **how: object) -> Redis:
    """Return a client that sends nothing twice by itself."""
    # A slow machine may take its time; what must fail sooner says so.
    patient: Any = {"socket_timeout": PATIENCE_S, **how}
    return Redis(unix_socket_path=made.socket, retry=Retry(NoBackoff(), 0), **patient)


@pytest.fixture
async def client(redis_server: Server) -> AsyncIterator[Redis]:
    """A client of an empty server."""
    async with client_of(redis_server) as made:
        await made.flushall()
        yield made


@pytest.fixture
async def queue(client: Redis) -> AsyncIterator[Queue]:
    """An empty queue, which must be sound when the test has ended."""
    made = Queue(client, "mail")
    yield made
    await assert_sound(made)


@pytest.fixture
def worker(queue: Queue) -> Hand:
    """A worker whose every script the test sends."""
    return Hand(queue)


@pytest.fixture
def other(queue: Queue) -> Hand:
    """Another one."""
    return Hand(queue, "w2")
