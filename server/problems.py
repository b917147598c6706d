"""Errors as problem details (RFC 9457): every error of the API is one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import psycopg
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from redis.exceptions import RedisError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from server.engines import EngineAwayError
from server.outbox import InvalidDeliveryError
from server.redisq import OutOfMemoryError, QueueFullError

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

_NO_JSON = "must be JSON, sent with 'Content-Type: application/json'"


class FieldProblem(BaseModel):
    """What is wrong with one field of a request."""

    field: str = Field(description="where it stands, as in `body.payload.text`")
    message: str


class Problem(BaseModel):
    """A problem detail."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "There is nothing at /api/nothing.",
                }
            ]
        }
    )

    type: str = Field("about:blank", description="the kind of problem; about:blank: see the status")
    title: str = Field(description="the kind of problem in words")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="a sentence about this occurrence")
    errors: list[FieldProblem] | None = Field(None, description="the fields at fault, for 422")


class ProblemError(HTTPException):
    """Raised to answer with a problem. `detail` is a sentence that a person can act on."""

    def __init__(
        self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)


def problem_response(
    status: int,
    detail: str,
    *,
    errors: list[FieldProblem] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response for a problem."""
    problem = Problem(
        type="about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=errors,
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def described(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says about the problems that an operation may answer with."""
    example = {"type": "about:blank"}
    return {
        int(status): {
            "description": status.phrase,
            "content": {
                MEDIA_TYPE: {
                    "schema": {"$ref": "#/components/schemas/Problem"},
                    "example": {
                        **example,
                        "title": status.phrase,
                        "status": int(status),
                        "detail": status.description or status.phrase,
                    },
                }
            },
        }
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Makes every error of the application a problem."""
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(InvalidDeliveryError, _unfit)
    app.add_exception_handler(psycopg.OperationalError, _database_away)
    for away in (RedisError, EngineAwayError):
        app.add_exception_handler(away, _queue_away)
    for full in (QueueFullError, OutOfMemoryError):
        app.add_exception_handler(full, _queue_full)
    app.add_exception_handler(Exception, _unexpected)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    detail = error.detail
    if detail == HTTPStatus(error.status_code).phrase:
        detail = _sentence(request, error.status_code)
    elif not detail.endswith("."):
        detail += "."
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed(request))
    return problem_response(error.status_code, detail, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Every method that some route takes at this path, not only the first route's."""
    methods: set[str] = set()
    for route in request.app.state.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return sorted(methods)


def _sentence(request: Request, status: int) -> str:
    match status:
        case HTTPStatus.NOT_FOUND:
            return f"There is nothing at {request.url.path}."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{request.url.path} does not take {request.method}."
        case _:
            return HTTPStatus(status).description or HTTPStatus(status).phrase


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class only
    faults = [
        FieldProblem(
            field=".".join(str(part) for part in fault["loc"]),
            message=str(fault["msg"]).removeprefix("Value error, "),
        )
        for fault in error.errors()
    ]
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if [fault.field for fault in faults] == ["body"] and kind != "application/json":
        # Whatever the type is, it was not read as JSON.
        faults = [FieldProblem(field="body", message=_NO_JSON)]
    return unprocessable(faults)


async def _unfit(_request: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidDeliveryError)  # noqa: S101 - registered for this class only
    return unprocessable(
        [FieldProblem(field=f"body.{fault.field}", message=fault.message) for fault in error.faults]
    )


def unprocessable(faults: list[FieldProblem]) -> Response:
    """The response to a request that can be read and does not fit."""
    fields = ", ".join(sorted({fault.field for fault in faults}))
    return problem_response(
        HTTPStatus.UNPROCESSABLE_ENTITY, f"The request does not fit: {fields}.", errors=faults
    )


async def _database_away(_request: Request, error: Exception) -> Response:
    log.warning("the database is away: %s", error, extra={"action": "database-away"})
    return problem_response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The database does not answer at the moment; try again in a few seconds.",
        headers={"Retry-After": "5"},
    )


async def _queue_away(_request: Request, error: Exception) -> Response:
    log.warning("the queue's server is away: %s", error, extra={"action": "queue-server-away"})
    return problem_response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The queue's server does not answer at the moment; try again in a few seconds.",
        headers={"Retry-After": "5"},
    )


async def _queue_full(_request: Request, error: Exception) -> Response:
    return problem_response(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"The queue takes no job at the moment: {error}.",
        headers={"Retry-After": "30"},
    )


async def _unexpected(_request: Request, error: Exception) -> Response:
    # Starlette raises it again after this answer, so that the server logs it with its traceback.
    log.error("unexpected %s", type(error).__name__, extra={"action": "unexpected"})
    return problem_response(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "Something went wrong on the server; its log says what.",
    )
