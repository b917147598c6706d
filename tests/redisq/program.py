"""A worker as a process: python -m tests.redisq.program SOCKET QUEUE [OPTION=NUMBER …].

Its handlers tell of their start by a push to `started`, and wait for a word by a pop from `go`;
`told` has each SIGTERM that has come.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading

from redis.asyncio import Redis

from server.redisq import FromThread, Queue, RunningJob, Tasks, Worker, WorkerOptions

tasks = Tasks()
teller: Redis


@tasks.task("wait")
async def wait(job: RunningJob) -> str:
    """Wait for the word, and return it."""
    await teller.rpush("started", job.id)
    _, word = await teller.blpop(["go"], timeout=0)
    return str(word.decode())


@tasks.task("stubborn")
async def stubborn(job: RunningJob) -> str:
    """Do the same, and mind no cancellation."""
    await teller.rpush("started", job.id)
    word = asyncio.ensure_future(teller.blpop(["go"], timeout=0))
    while not word.done():
        try:
            await asyncio.shield(word)
        except asyncio.CancelledError:
            await teller.rpush("cancelled", job.id)
    return str(word.result()[1].decode())


@tasks.task("hang")
def hang(job: FromThread) -> None:
    """Never end, in a thread."""
    job.progress(0.5)
    threading.Event().wait()


async def main(socket: str, name: str, *given: str) -> None:
    """Work until a signal."""
    global teller  # noqa: PLW0603 - the handlers' own connection
    teller = Redis(unix_socket_path=socket, socket_timeout=None)
    client = Redis(unix_socket_path=socket)
    options = {key: float(value) for key, _, value in (word.partition("=") for word in given)}
    worker = Worker(
        client,
        Redis(unix_socket_path=socket),
        Queue(client, name).base,
        tasks,
        options=WorkerOptions(concurrency=4, poll_s=0.5, **options),  # type: ignore[arg-type]
    )
    loop = asyncio.get_running_loop()
    telling: list[asyncio.Future[int]] = []

    def stop() -> None:
        worker.stop()
        telling.append(asyncio.ensure_future(teller.rpush("told", worker.id)))

    loop.add_signal_handler(signal.SIGTERM, stop)
    await teller.rpush("up", worker.id)
    await worker.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
