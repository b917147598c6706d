"""Runs a worker of the Redis queue in this process."""

from __future__ import annotations

import asyncio
import logging

from server.queue_tasks import queue_tasks
from server.redis_server import redis_client
from server.redisq import Queue, Worker, WorkerOptions
from server.signals import stop_on_signal

log = logging.getLogger(__name__)


async def work(url: str, name: str, concurrency: int) -> None:
    """Works until SIGINT or SIGTERM, finishes or gives back what runs, ends.

    A second signal gives it back at once. Raises RedisServerError if there is no server.
    """
    options = WorkerOptions(concurrency=concurrency)
    async with redis_client(url) as client, redis_client(url, block_s=options.poll_s) as waiting:
        base = Queue(client, name).base
        worker = Worker(client, waiting, base, queue_tasks(), options=options)
        async with stop_on_signal(worker.stop) as stop:
            log.info("working", extra={"action": "queue-work", "queue": name, "worker": worker.id})
            beside = asyncio.create_task(_stop_when(stop, worker))
            try:
                await worker.run()
            finally:
                beside.cancel()
        log.info("worked", extra={"action": "queue-worked", **worker.counts})


async def _stop_when(stop: asyncio.Event, worker: Worker) -> None:
    await stop.wait()
    worker.stop()
