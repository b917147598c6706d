"""Who may change state: whoever has the token, or the page itself on a machine of one's own."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr

from server.problems import ProblemError
from server.settings import Settings, is_loopback

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="adminToken",
    description="The token of WORKERS_ADMIN_TOKEN. In lab mode a page of the same origin on "
    "loopback needs none.",
)

drain_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="drainToken",
    description="The token of WORKERS_DRAIN_TOKEN, or the admin token.",
)

jobs_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="jobsToken",
    description="The token of WORKERS_JOBS_TOKEN, or the admin token. In lab mode a page of the "
    "same origin on loopback needs none.",
)

metrics_bearer = HTTPBearer(
    auto_error=False,
    scheme_name="metricsToken",
    description="The token of WORKERS_METRICS_TOKEN, or the admin token.",
)

_HOW = "send 'Authorization: Bearer <WORKERS_ADMIN_TOKEN>'"


def may_change_state(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> None:
    """Lets a request through or raises a problem: 401 without a token, 403 with a wrong one.

    Without a token the page of this origin may pass, in lab mode and on loopback only. The name
    in Host must be a loopback name as well: a foreign name that was made to resolve to this
    machine (DNS rebinding) makes a foreign page look like the same origin.
    """
    settings: Settings = request.app.state.settings
    token = settings.admin_token
    if credentials is not None:
        if _is_one_of(credentials, token):
            return
        detail = "This is not the admin token." if token else "No admin token is set here."
        raise ProblemError(HTTPStatus.FORBIDDEN, detail)
    if not settings.lab_mode:
        raise _unauthorised(f"Changing state needs the admin token; {_HOW}.")
    if request.client is None or not is_loopback(request.client.host):
        raise _unauthorised(f"From another machine this needs the admin token; {_HOW}.")
    if not from_own_page(request.url.scheme, request.headers):
        raise _unauthorised(f"Only the page of this server may do this without a token; {_HOW}.")


def may_drain(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(drain_bearer)],
) -> None:
    """Lets through who has the drain's token or the admin's; 404 where neither is set.

    No page passes without one: what calls this is a scheduler, from anywhere.
    """
    settings: Settings = request.app.state.settings
    _token_only(credentials, "WORKERS_DRAIN_TOKEN", settings.drain_token, settings.admin_token)


def may_wake_jobs(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(jobs_bearer)],
) -> bool:
    """Lets through the page, like `may_change_state`, and who has the jobs' token or the admin's.

    Returns whether it was a token: a platform's scheduler has one. 404 if one is sent and neither
    is set.
    """
    settings: Settings = request.app.state.settings
    if credentials is None:
        may_change_state(request, None)
        return False
    _token_only(credentials, "WORKERS_JOBS_TOKEN", settings.jobs_token, settings.admin_token)
    return True


def may_read_metrics(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(metrics_bearer)],
) -> None:
    """The same for the metrics, with a token of their own."""
    settings: Settings = request.app.state.settings
    _token_only(credentials, "WORKERS_METRICS_TOKEN", settings.metrics_token, settings.admin_token)


def _token_only(
    credentials: HTTPAuthorizationCredentials | None, name: str, *tokens: SecretStr | None
) -> None:
    if not any(tokens):
        raise ProblemError(
            HTTPStatus.NOT_FOUND, f"This is off here: neither {name} nor an admin token is set."
        )
    if credentials is None:
        raise _unauthorised(f"Send 'Authorization: Bearer <{name}>'.")
    if not _is_one_of(credentials, *tokens):
        raise ProblemError(HTTPStatus.FORBIDDEN, "This is not a token for this.")


def _is_one_of(credentials: HTTPAuthorizationCredentials, *tokens: SecretStr | None) -> bool:
    """Whether a token that is set was sent, each compared in constant time."""
    sent = credentials.credentials.encode("latin-1")  # the bytes of the header, as they came
    # All of them are compared, whichever it is.
    matches = [
        hmac.compare_digest(sent, token.get_secret_value().encode())
        for token in tokens
        if token is not None
    ]
    return any(matches)


def from_own_page(scheme: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of this very origin, under a loopback name, sent this.

    A request without any word on its origin is not from a page.
    """
    host = headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if name is None or not is_loopback(name):
        return False
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    if origin is None and site is None:
        return False
    return origin in (None, f"{scheme}://{host}") and site in (None, "same-origin")


def _unauthorised(detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.UNAUTHORIZED, detail, {"WWW-Authenticate": "Bearer"})
