"""`welcome_email`: a mail to somebody new, sent by the outbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from server import outbox
from server.channels.email import EmailChannel
from server.engines import TaskJob
from server.outbox import Connect, InvalidDeliveryError, NewDelivery
from server.redisq import PermanentError
from server.settings import Settings

TEXT = """Hello {name},

welcome. This mail was wanted by a job in a Redis queue, written down as a delivery in PostgreSQL
in the same moment in which the job was done, and sent from there.
"""


class Welcome(BaseModel):
    """Who is welcome."""

    model_config = ConfigDict(extra="forbid", strict=True)

    to: str = Field(min_length=1, max_length=320)
    name: str = Field(min_length=1, max_length=100)


def welcome_email(settings: Settings, connect: Connect) -> Callable[[TaskJob], Awaitable[Any]]:
    """The task. However often a job of it runs, one mail comes of it, and its result is the same.

    The job's id is the delivery's idempotency key, so that holds for as long as the delivery is
    kept. The outbox sends the mail, tries again and says what became of it: a job that is done has
    handed it over.
    """

    async def run(job: TaskJob) -> dict[str, Any]:
        try:
            wanted = Welcome.model_validate(job.payload)
        except ValidationError as error:
            raise PermanentError(f"the payload does not fit: {error}") from error
        subject = " ".join(f"Welcome, {wanted.name}".split())
        delivery = NewDelivery(
            channel=EmailChannel.name,
            recipient=wanted.to,
            payload={"subject": subject, "text": TEXT.format(name=wanted.name)},
            idempotency_key=f"job/{job.id}",
        )
        try:
            async with connect() as connection, connection.transaction():
                [number] = await outbox.enqueue(
                    connection,
                    [delivery],
                    max_attempts=settings.max_attempts,
                    checks={EmailChannel.name: EmailChannel.check(settings)},
                )
        except InvalidDeliveryError as error:
            raise PermanentError(str(error)) from error
        return {"delivery": number}

    return run
