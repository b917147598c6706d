"""Bounds how much of a request's body is read."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.problems import ProblemError, problem_response

LIMIT = 64 * 1024
"""Bytes. The largest request the API knows is a short text, but for those that say otherwise."""


def with_body_limit(app: ASGIApp, larger: Mapping[str, int] | None = None) -> ASGIApp:
    """The application, which never sees more than LIMIT bytes of a body: it answers 413.

    `larger` gives other limits for paths. A body that announces its length is refused unread; one
    that does not is counted as it comes.
    """
    limits = larger or {}

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        limit = limits.get(scope["path"], LIMIT)
        detail = f"The body may have at most {limit} bytes."
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > limit:
            response = problem_response(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, headers={"Connection": "close"}
            )
            await response(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
            return message

        await app(scope, counted, send)

    return limited
