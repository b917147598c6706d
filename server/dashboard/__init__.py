"""Pages for whoever operates the queues: made on the server, complete without JavaScript."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.routing import APIRoute

from server.dashboard import entry, outbox, queues
from server.dashboard.pages import PageRoute


def routers() -> list[APIRouter]:
    """The pages below /queues in German, and the same below /en in English."""
    # What is not there comes last.
    german = [part.router for part in (queues, outbox, entry)]
    return [*german, *map(_english, german)]


def _english(german: APIRouter) -> APIRouter:
    router = APIRouter(prefix="/en", route_class=PageRoute, include_in_schema=False)
    for route in german.routes:
        if isinstance(route, APIRoute):
            router.add_api_route(
                route.path,
                route.endpoint,
                methods=sorted(route.methods or ()),
                dependencies=route.dependencies,
                response_class=route.response_class,
            )
    return router
