"""What every page of the dashboard has in common: forms, and faults said as a page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode

import psycopg
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from redis.exceptions import RedisError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from server.dashboard.rendering import page, place_of, words_of

log = logging.getLogger(__name__)

MOST_FIELDS = 20

_TEXTS = {
    HTTPStatus.UNAUTHORIZED: "error.unauthorised",
    HTTPStatus.FORBIDDEN: "error.forbidden",
    HTTPStatus.NOT_FOUND: "error.missing",
    HTTPStatus.UNPROCESSABLE_ENTITY: "error.unfit",
    HTTPStatus.BAD_REQUEST: "error.unfit",
}


class PageRoute(APIRoute):
    """A route whose faults are pages too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except HTTPException as error:
                status = HTTPStatus(error.status_code)
                key = _TEXTS.get(status, "error.other")
                return fault(request, status, key, str(error.detail), error.headers)
            except RequestValidationError:
                return fault(request, HTTPStatus.NOT_FOUND, "error.missing")
            except RedisError as error:
                log.warning("Redis is away: %s", error, extra={"action": "queue-server-away"})
                return fault(request, HTTPStatus.SERVICE_UNAVAILABLE, "error.redis")
            except psycopg.OperationalError as error:
                log.warning("the database is away: %s", error, extra={"action": "database-away"})
                return fault(request, HTTPStatus.SERVICE_UNAVAILABLE, "error.database")

        return handle


def fault(
    request: Request,
    status: HTTPStatus,
    key: str,
    detail: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The page that says what went wrong."""
    text = words_of(request).say(key, detail=detail)
    return page(request, "error.html", {"text": text}, status, headers)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form that have something in them.

    Raises HTTPException, 422, for what is none. `with_body_limit` bounds how much is read.
    """
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body:
        return {}
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "This is no form.")
    try:
        fields = parse_qsl(body.decode("ascii"), errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "This is no form.") from error
    return dict(fields)


def back_to(request: Request, path: str, **query: object) -> Response:
    """Leads a browser on to a page, after a form."""
    told = urlencode({name: value for name, value in query.items() if value is not None})
    address = place_of(request).to(path) + (f"?{told}" if told else "")
    return RedirectResponse(address, HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"})
