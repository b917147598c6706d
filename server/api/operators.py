"""What all operations that only operators may call have in common."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, Depends

from server.access import may_change_state
from server.problems import described


def operators_router(prefix: str) -> APIRouter:
    """A router for operations that need the admin token, and what any of them may answer with."""
    return APIRouter(
        prefix=prefix,
        tags=["operator"],
        dependencies=[Depends(may_change_state)],
        responses=described(
            HTTPStatus.UNAUTHORIZED,
            HTTPStatus.FORBIDDEN,
            HTTPStatus.UNPROCESSABLE_ENTITY,
            HTTPStatus.SERVICE_UNAVAILABLE,
        ),
    )
