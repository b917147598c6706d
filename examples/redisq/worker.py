"""Does jobs until Ctrl-C or SIGTERM; a second one gives back at once what still runs."""

import asyncio
import signal

from jobs import connect, queue_of, tasks
from redisq import Worker, WorkerOptions


async def main() -> None:
    """Work until a signal."""
    options = WorkerOptions(concurrency=4)
    async with connect() as client, connect(options.poll_s) as waiting:
        worker = Worker(client, waiting, queue_of(client).base, tasks, options=options)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, worker.stop)
        await worker.run()
        print(worker.counts)


asyncio.run(main())
