"""Puts a job in: python producer.py [--later SECONDS] [--id ID] NAME."""

import argparse
import asyncio

from jobs import connect, queue_of


async def main() -> None:
    """Enqueue one greeting, and print its id."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--later", type=float, default=0, help="seconds")
    parser.add_argument("--id")
    given = parser.parse_args()
    async with connect() as client:
        queue = queue_of(client)
        payload = {"name": given.name}
        print(await queue.enqueue("greet", payload, delay_s=given.later, id=given.id))


asyncio.run(main())
