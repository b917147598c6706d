"""The channel "queue": hands a delivery over to the Redis queue, as a job.

So a job is enqueued if and only if the business row commits beside which its delivery was written.
The job's id is made of the delivery's, and a job of an id that is there already is left as it is:
a hand-over that is repeated, because a worker died before it could write down the first one, is
the same job, for as long as the queue remembers it (a day after it is done).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from server.channels import Schema
from server.channels.identity import stable_id
from server.channels.storable import JSON_OBJECT_REF
from server.engines import EngineAwayError, open_engine
from server.outbox import (
    ChannelDown,
    ChannelPolicy,
    Check,
    Connect,
    Delivery,
    Fault,
    Refused,
    RetryLater,
)
from server.redisq import InvalidJobError, NewJob, OutOfMemoryError, QueueFullError
from server.redisq.new_job import LARGEST_PAYLOAD
from server.settings import Settings
from server.tasks.names import NAMES

FULL_S = 30.0
"""How long a queue that is full, or whose server has no memory left, is left alone."""


class QueueChannel:
    """Makes each delivery a job: its recipient is the task's name, its payload the job's."""

    name = "queue"

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings = settings
        self._url = url
        self.policy = ChannelPolicy(
            send_timeout_s=settings.send_timeout_s * settings.time_scale, concurrency=10
        )

    @classmethod
    def from_settings(cls, settings: Settings, connect: Connect) -> Self | None:
        """The channel, if there is a Redis server."""
        del connect
        return None if settings.redis_url is None else cls(settings, settings.redis_url)

    @staticmethod
    def faults(recipient: str, payload: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with the task's name and with the length of its payload."""
        faults = []
        if recipient not in NAMES:
            faults.append(Fault("recipient", f"must be one of {', '.join(NAMES)}"))
        text = json.dumps(dict(payload), ensure_ascii=False)
        # Half a surrogate pair is no text, and others say so.
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_PAYLOAD:
            faults.append(Fault("payload", f"must have at most {LARGEST_PAYLOAD} bytes"))
        return faults

    @classmethod
    def check(cls, settings: Settings) -> Check:
        """Nothing more: what a payload must hold, its task says."""
        del settings
        return cls.faults

    @staticmethod
    def fields(settings: Settings) -> Mapping[str, Schema]:
        """The names of the tasks, and any JSON."""
        del settings
        return {
            "recipient": {
                "type": "string",
                "enum": list(NAMES),
                "description": "the task that is to run",
            },
            "payload": JSON_OBJECT_REF,
        }

    async def send(self, delivery: Delivery) -> str:
        """Enqueues the job and returns its id.

        Raises Refused for what no queue would ever take, RetryLater where there is no room at the
        moment, ChannelDown where the server does not answer.
        """
        if faults := self.faults(delivery.recipient, delivery.payload):
            raise Refused("; ".join(map(str, faults)), code="invalid")
        job = NewJob(task=delivery.recipient, payload=dict(delivery.payload), id=job_id(delivery))
        try:
            async with open_engine(self._settings, self._url) as engine:
                return await engine.enqueue(job)
        except InvalidJobError as error:
            raise Refused(str(error), code="invalid") from error
        except (QueueFullError, OutOfMemoryError) as error:
            raise RetryLater(str(error), after_s=FULL_S) from error
        except EngineAwayError as error:
            raise ChannelDown(str(error)) from error


def job_id(delivery: Delivery) -> str:
    """The id of the job that a delivery becomes."""
    return f"delivery-{stable_id(delivery)}"
