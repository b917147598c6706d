"""Which Redis or Valkey is used: that of REDIS_URL, or one of our own for the time being."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from server.embedded_valkey import embedded_valkey
from server.errors import RedisServerError
from server.settings import Settings

ANSWER_S = 5.0
"""How long a command may take."""


@contextlib.contextmanager
def redis_server(settings: Settings) -> Iterator[str]:
    """Lends the URL of the server; an embedded one runs until the end."""
    if settings.redis_url is not None:
        yield settings.redis_url
        return
    with embedded_valkey(settings.data_dir) as url:
        yield url


def new_client(url: str, *, block_s: float = 0.0, text: bool = False) -> Redis:
    """A client that sends nothing twice by itself, for commands that block up to `block_s`.

    The server need not be there yet. `text` turns what it answers into str.
    """
    return Redis.from_url(
        url,
        retry=Retry(NoBackoff(), 0),
        socket_timeout=block_s + ANSWER_S,
        socket_connect_timeout=ANSWER_S,
        health_check_interval=30,
        decode_responses=text,
    )


@contextlib.asynccontextmanager
async def redis_client(url: str, *, block_s: float = 0.0) -> AsyncIterator[Redis]:
    """Lends such a client once its server answers.

    Raises RedisServerError if the server cannot be reached.
    """
    async with new_client(url, block_s=block_s) as client:
        try:
            await client.ping()
        except RedisError as error:
            raise RedisServerError(
                f"the Redis server cannot be reached: {error}",
                hint="Check REDIS_URL, or unset it to use a Valkey of our own.",
            ) from error
        yield client
