"""One run of one job: from the claim to its outcome."""

from __future__ import annotations

import asyncio
import random
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any

from .deadlines import Deadline, Deadlines
from .errors import LeaseLostError, PermanentError, Snooze
from .model import Claim, Kind, Outcome
from .running import RunningJob
from .threads import in_thread

if TYPE_CHECKING:
    from .codec import Codec
    from .options import WorkerOptions
    from .scripts import Client
    from .tasks import Tasks

LONGEST_ERROR = 4096
LARGEST_RESULT = 65_536


class Runner:
    """Runs jobs, and says how each ended."""

    def __init__(
        self, tasks: Tasks, client: Client, base: str, codec: Codec, options: WorkerOptions
    ) -> None:
        self._tasks = tasks
        self._client = client
        self._base = base
        self._codec = codec
        self._backoff = options.backoff
        self._deadlines = Deadlines()

    async def run(self, claim: Claim) -> Outcome | None:
        """Return how the run ended; None if its lease was lost, so that nobody wants to know.

        Raises asyncio.CancelledError when it is cancelled from outside, and nothing else.
        """
        limit = Deadline(claim.timeout_ms / 1000, self._deadlines)
        try:
            with limit:
                result = await self._call(claim)
            return self._done(claim, result)
        except LeaseLostError:
            return None
        except PermanentError as error:
            return self._failed(claim, error, "dead")
        except Snooze as snooze:
            return Outcome(claim.id, claim.token, "snooze", round(snooze.after_s * 1000))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task and task.cancelling():
                raise
            # Nobody cancelled the run: the handler waited for something that was cancelled.
            return self._failed(claim, error, "retry")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a handler raises
            if limit.expired:
                error.add_note(f"The job ran longer than its {claim.timeout_ms / 1000:g} s.")
            return self._failed(claim, error, "retry")

    async def _call(self, claim: Claim) -> Any:
        job = RunningJob(claim, self._client, self._base, self._codec)
        handler = self._tasks[claim.task]
        if self._tasks.is_async(claim.task):
            return await handler(job)
        return await in_thread(partial(handler, job.from_thread()))

    def _done(self, claim: Claim, result: Any) -> Outcome:
        if result is None:
            return Outcome(claim.id, claim.token, "done")
        try:
            written = self._codec.encode(result)
        except (TypeError, ValueError, RecursionError) as error:
            unwritable = PermanentError(f"the job is done, but its result cannot be kept: {error}")
            return self._failed(claim, unwritable, "dead")
        if len(written) > LARGEST_RESULT:
            large = PermanentError(f"the job is done, but its result has {len(written)} bytes")
            return self._failed(claim, large, "dead")
        return Outcome(claim.id, claim.token, "done", text=written)

    def _failed(self, claim: Claim, error: BaseException, kind: Kind) -> Outcome:
        delay = self._backoff.delay_ms(claim.attempts + 1, random.random())  # noqa: S311
        return Outcome(claim.id, claim.token, kind, delay, described(error))


def described(error: BaseException) -> bytes:
    """Return the error's traceback, its end first to be kept when it is long."""
    text = "".join(traceback.format_exception(error)).encode("utf-8", "replace")
    return text[-LONGEST_ERROR:].decode("utf-8", "ignore").encode()
