"""Pages for whoever operates the queues: made on the server, complete without JavaScript."""

from __future__ import annotations

from fastapi import APIRouter

from server.dashboard import entry, outbox, queues


def routers() -> list[APIRouter]:
    """The pages below /queues in German, and the same below /en in English."""
    german = APIRouter(route_class=entry.router.route_class)
    # What is not there comes last.
    for part in (queues, outbox, entry):
        german.include_router(part.router)
    english = APIRouter(prefix="/en")
    english.include_router(german)
    return [german, english]
