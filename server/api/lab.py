"""The lab: workers to be broken, a channel that misbehaves, and deliveries for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Path, Request, Response
from psycopg import AsyncConnection
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from server import outbox
from server.access import may_change_state
from server.api.connection import Configured, Lent
from server.api.deliveries import SHOWN_IDS, DeliveriesAccepted
from server.api.fields import Whole, no_text
from server.api.queue import QueuePolicy
from server.channels.storable import Storable
from server.lab.behaviour import CHANNEL, Behaviour, prepare, read_behaviour, set_behaviour
from server.lab.channel import longest_send_s
from server.lab.figures import unscaled
from server.lab.worker import Kind
from server.lab.workers import (
    LabWorker,
    LabWorkers,
    State,
    TooManyWorkersError,
    UnknownWorkerError,
    WrongStateError,
)
from server.outbox import NewDelivery
from server.problems import ProblemError, described


def _lab(request: Request) -> LabWorkers:
    lab: LabWorkers | None = request.app.state.lab
    if lab is None:
        raise ProblemError(HTTPStatus.NOT_FOUND, "There is no lab here: lab mode is off.")
    return lab


Lab = Annotated[LabWorkers, Depends(_lab)]

router = APIRouter(
    prefix="/api/lab",
    tags=["lab"],
    dependencies=[Depends(_lab), Depends(may_change_state)],
    responses=described(
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.SERVICE_UNAVAILABLE,
    ),
)

LONGEST_SEND_S = 3600.0
Fails = Annotated[int, Field(ge=0, le=1000), BeforeValidator(no_text)]
TakesS = Annotated[
    float, Field(ge=0, le=LONGEST_SEND_S, allow_inf_nan=False), BeforeValidator(no_text)
]

_full = described(HTTPStatus.CONFLICT)
_with_body = described(HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


class LabFigures(BaseModel):
    """What the lab works by. Spans are in seconds, before `time_scale`, but for `worker_s`."""

    policy: QueuePolicy
    workers: int = Field(description="most workers at a time")
    worker_s: float = Field(description="how long each may run, not scaled")


class ShownWorker(BaseModel):
    """A worker of the lab."""

    id: int
    name: str
    kind: Kind = Field(description="a `drain` empties the queue once, as a job would, and ends")
    holder: str = Field(description="its name in the queue, as `holder` of what it holds")
    state: State
    started_at: datetime
    ends_at: datetime = Field(description="when its time is over")
    pid: int | None
    sending: int = Field(description="how many sends it is in the middle of")
    freezing: bool = Field(description="it is frozen as soon as it is in the middle of a send")
    ended_at: datetime | None
    exit_code: int | None = Field(description="negative: the signal that ended it")

    @classmethod
    def of(cls, worker: LabWorker) -> Self:
        """What is shown of a worker."""
        return cls(
            id=worker.id,
            name=worker.name,
            kind=worker.kind,
            holder=worker.holder,
            state=worker.state,
            started_at=worker.started_at,
            ends_at=worker.ends_at,
            pid=None if worker.process is None else worker.process.pid,
            sending=worker.sending,
            freezing=worker.freezing,
            ended_at=worker.ended_at,
            exit_code=worker.exit_code,
        )


class ShownWorkers(BaseModel):
    """The lab's workers, the last ones that have ended among them, in the order of their start."""

    workers: Sequence[ShownWorker]


class LabBehaviour(BaseModel):
    """How the lab's channel behaves. A delivery may bring all but `down` in its payload."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"down": False, "refuses": False, "fails": 2, "takes_s": 100.0}]
        },
    )

    down: bool = Field(default=False, strict=True, description="it cannot be reached at all")
    refuses: bool = Field(default=False, strict=True, description="its receiver refuses for good")
    fails: Fails = Field(0, description="the first so many attempts of each delivery fail")
    takes_s: TakesS = Field(
        50.0, description="how long a send takes, before it is scaled; beyond its time-out it fails"
    )


class LabDeliveries(BaseModel):
    """Deliveries for the lab's channel, with a behaviour of their own where one is given."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"text": "Good morning", "count": 25}]}
    )

    text: Storable = Field("…", min_length=1, max_length=500)
    count: Whole = Field(1, ge=1, le=1000)
    refuses: bool | None = Field(None, strict=True)
    fails: Fails | None = None
    takes_s: TakesS | None = None


@router.get("", summary="What the lab works by")
async def read_lab(settings: Configured, response: Response) -> LabFigures:
    """Its workers are workers like any other, with time running faster and no lease keeper."""
    response.headers["Cache-Control"] = "no-cache"
    policy = unscaled(settings)
    figures = asdict(policy) | {
        "send_timeout_s": longest_send_s(policy),
        "time_scale": settings.lab_time_scale,
    }
    return LabFigures(
        policy=QueuePolicy.model_validate(figures),
        workers=settings.lab_workers,
        worker_s=settings.lab_worker_s,
    )


@router.get("/workers", summary="The lab's workers")
async def list_workers(lab: Lab, response: Response) -> ShownWorkers:
    """Those that run, and the last ones that have ended."""
    response.headers["Cache-Control"] = "no-store"
    return ShownWorkers(workers=[ShownWorker.of(one) for one in lab.everyone()])


@router.post(
    "/workers",
    summary="Start a worker",
    status_code=HTTPStatus.CREATED,
    responses=_full,
)
async def start_worker(lab: Lab, connection: Lent) -> ShownWorker:
    """A process of its own, which ends with the server, or when its time is over."""
    return await _started(lab, connection, Kind.WORKER)


@router.post(
    "/drains",
    summary="Empty the lab's queue without a worker",
    status_code=HTTPStatus.CREATED,
    responses=_full,
)
async def start_drain(lab: Lab, connection: Lent) -> ShownWorker:
    """A process that delivers what is due and ends; it counts as a worker while it runs."""
    return await _started(lab, connection, Kind.DRAIN)


async def _started(lab: LabWorkers, connection: AsyncConnection[Any], kind: Kind) -> ShownWorker:
    await prepare(connection)
    try:
        return ShownWorker.of(await lab.start(kind))
    except TooManyWorkersError as error:
        raise ProblemError(
            HTTPStatus.CONFLICT, "As many lab workers run as may; end one first."
        ) from error


@router.delete("/workers", summary="Kill all lab workers, and forget them")
async def clear_workers(lab: Lab) -> ShownWorkers:
    """What they hold comes back when its lease runs out."""
    await lab.clear()
    return ShownWorkers(workers=[ShownWorker.of(one) for one in lab.everyone()])


def _offer(verb: str, summary: str, does: str) -> None:
    """Adds the operation that does one thing to a worker."""

    async def act(
        lab: Lab, number: Annotated[int, Path(ge=1, lt=1 << 63, description="its id")]
    ) -> ShownWorker:
        to_do: Callable[[int], LabWorker] = getattr(lab, verb)
        try:
            return ShownWorker.of(to_do(number))
        except UnknownWorkerError as error:
            raise ProblemError(
                HTTPStatus.NOT_FOUND, f"There is no lab worker {number} here."
            ) from error
        except WrongStateError as error:
            raise ProblemError(HTTPStatus.CONFLICT, f"{error}; {does}.") from error

    operation: Callable[..., Awaitable[ShownWorker]] = act
    router.add_api_route(
        f"/workers/{{number:int}}/{verb.replace('_', '-')}",
        operation,
        methods=["POST"],
        name=f"{verb}_worker",
        summary=summary,
        description=f"{does[0].upper()}{does[1:]}.",
        responses=described(HTTPStatus.CONFLICT),
    )


_offer("freeze", "Freeze a worker", "one that runs stops in the middle of whatever it does")
_offer(
    "freeze_sending",
    "Freeze a worker in a send",
    "one that runs is frozen as soon as it is in the middle of a send",
)
_offer("thaw", "Thaw a worker", "one that is frozen goes on as if nothing had been")
_offer("kill", "Kill a worker", "one that has not ended ends at once, whatever it does")
_offer("stop", "Stop a worker", "one that is not frozen finishes what it has begun, and ends")


@router.get("/channel", summary="How the lab's channel behaves")
async def read_channel(connection: Lent, response: Response) -> LabBehaviour:
    """The same for all lab workers; it lies in the database."""
    response.headers["Cache-Control"] = "no-store"
    await prepare(connection)
    return LabBehaviour.model_validate(asdict(await read_behaviour(connection)))


@router.put("/channel", summary="Let the lab's channel behave otherwise", responses=_with_body)
async def set_channel(wanted: LabBehaviour, connection: Lent) -> LabBehaviour:
    """Holds for every send that begins from now on; what is left out goes back to its default."""
    await prepare(connection)
    await set_behaviour(connection, Behaviour(**wanted.model_dump()))
    return wanted


@router.post(
    "/deliveries",
    summary="Enqueue deliveries for the lab's channel",
    status_code=HTTPStatus.ACCEPTED,
    responses=_with_body,
)
async def add_lab_deliveries(
    wanted: LabDeliveries, connection: Lent, settings: Configured
) -> DeliveriesAccepted:
    """Only the lab's workers take them."""
    payload = wanted.model_dump(exclude={"count"}, exclude_none=True)
    async with connection.transaction():
        ids = await outbox.enqueue(
            connection,
            [NewDelivery(CHANNEL, CHANNEL, payload)] * wanted.count,
            max_attempts=settings.max_attempts,
        )
    return DeliveriesAccepted(ids=ids[:SHOWN_IDS], count=len(ids))
