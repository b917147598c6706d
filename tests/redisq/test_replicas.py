"""Enqueueing that waits for replicas."""

from __future__ import annotations

import signal
import socket

import pytest

from server.redisq import NewJob, NotConfirmedError, Queue
from tests.redisq.conftest import client_of
from tests.redisq.servers import server


def free_port() -> int:
    """A port that nobody has just now; a replica cannot be fed through a Unix socket."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_a_confirmation_is_never_made_up(engine: str) -> None:
    """Not even for jobs that were there before, whose write another connection has sent."""
    port = free_port()
    first = server(engine, "--port", str(port), "--repl-diskless-sync-delay", "0")
    second = server(engine, "--replicaof", "127.0.0.1", str(port))
    with first as leader, second as replica:
        queue = Queue(client_of(leader), "mail")
        jobs = [NewJob(task="a", id="x"), NewJob(task="a", id="y")]
        confirmed = await queue.enqueue_many(jobs, replicas=1, confirm_s=20)
        assert confirmed == ["x", "y"]
        async with client_of(replica) as reader:
            assert await reader.zcard(f"{queue.base}:ready") == 2
        await queue.client.aclose()
        assert replica.process
        replica.process.send_signal(signal.SIGSTOP)
        jobs.append(NewJob(task="a", id="z"))
        for _ in range(2):
            # Each on a connection of its own.
            async with client_of(leader) as client:
                with pytest.raises(NotConfirmedError) as missing:
                    await Queue(client, "mail").enqueue_many(jobs, replicas=1, confirm_s=0.05)
                assert (missing.value.ids, missing.value.confirmed) == (["x", "y", "z"], 0)
        replica.process.send_signal(signal.SIGCONT)
        async with client_of(leader) as client:
            again = await Queue(client, "mail").enqueue_many(jobs, replicas=1, confirm_s=20)
            assert again == ["x", "y", "z"]
