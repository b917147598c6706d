"""How who has the admin token gets in by a browser, and out again; and what is not there."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from server.dashboard.pages import PageRoute, back_to, form_of
from server.dashboard.rendering import page
from server.dashboard.visitor import COOKIE, STAYS_S, enter, from_same_origin

router = APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=Response)


@router.get("/queues/enter")
async def show_entry(request: Request) -> Response:
    """The form for the token."""
    return page(request, "enter.html", {"wrong": False})


@router.post("/queues/enter")
async def let_in(request: Request) -> Response:
    """Gives the cookie for the token; 403 for another one."""
    cookie = enter(request, (await form_of(request)).get("token", ""))
    if cookie is None:
        return page(request, "enter.html", {"wrong": True}, HTTPStatus.FORBIDDEN)
    response = back_to(request, "/queues")
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=STAYS_S,
        path=request.scope.get("root_path", "") or "/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/queues/leave")
async def let_out(request: Request) -> Response:
    """Takes the cookie back."""
    if not from_same_origin(request):
        raise HTTPException(HTTPStatus.FORBIDDEN)
    response = back_to(request, "/queues")
    response.delete_cookie(COOKIE, path=request.scope.get("root_path", "") or "/")
    return response


@router.get("/queues/{rest:path}")
async def missing(rest: str) -> Response:
    """There is no such page."""
    raise HTTPException(HTTPStatus.NOT_FOUND, rest)
