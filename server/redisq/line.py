"""Several commands in one write, over a connection that is kept for nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redis.asyncio.cluster import RedisCluster
from redis.exceptions import ResponseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio.connection import AbstractConnection

    from .scripts import Client

Command = tuple[Any, ...]


class Line:
    """A connection to the server, made when it is needed and made again when it has ended.

    A client's pipeline does the same, and puts some 0.15 ms between the answer and whoever waits
    for it. In a cluster it is a pipeline all the same, which knows the node.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._connection: AbstractConnection | None = None

    async def send(self, *commands: Command) -> Sequence[Any]:
        """Return what the server says to each, the errors that it says included.

        Raises redis.exceptions.ConnectionError and the like when it says nothing. Nothing is sent
        a second time.
        """
        if isinstance(self._client, RedisCluster):
            async with self._client.pipeline(transaction=False) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                return await pipe.execute(raise_on_error=False)
        if self._connection is None:
            pool: Any = self._client.connection_pool
            self._connection = await pool.get_connection()
        connection: AbstractConnection = self._connection
        await connection.send_packed_command(connection.pack_commands(commands))
        replies: list[Any] = []
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except ResponseError as error:
                replies.append(error)
        return replies

    async def close(self) -> None:
        """Give the connection back to its client."""
        if self._connection is not None and not isinstance(self._client, RedisCluster):
            connection, self._connection = self._connection, None
            await connection.disconnect(nowait=True)
            await self._client.connection_pool.release(connection)
