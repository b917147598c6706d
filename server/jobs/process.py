"""The process of one run: `python -m server.jobs.process JOB RUN FENCE`, started by a server."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

from server.database import open_pool
from server.jobs.built_in import jobs
from server.jobs.carrying import carry
from server.jobs.model import Claim, Outcome
from server.jobs.running import Running
from server.logs import configure_logs
from server.settings import Settings, load_settings
from server.signals import closed_stdin, stop_on_signal


async def run(settings: Settings, name: str, number: int, fence: int) -> Outcome:
    """Carries a run that the server has begun to its end."""
    assert settings.database_url is not None  # noqa: S101 - the server has set it
    async with open_pool(settings.database_url, most=2) as pool, stop_on_signal() as stop:
        claim = Claim(name, number, fence, None, datetime.now(UTC))
        running = Running(claim, pool.connection, settings.database_url, settings, stop)
        beside = asyncio.create_task(closed_stdin(stop))
        try:
            return await carry(jobs(settings)[name], running, own_process=True)
        finally:
            beside.cancel()


def main() -> None:
    """Runs what the command line names; the exit code is 0 if it succeeded."""
    name, number, fence = sys.argv[1:]
    settings = load_settings()
    configure_logs(settings.log)
    outcome = asyncio.run(run(settings, name, int(number), int(fence)))
    raise SystemExit(outcome is not Outcome.SUCCEEDED)


if __name__ == "__main__":
    main()
