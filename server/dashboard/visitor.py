"""Who looks at the dashboard, and what they may do.

Figures are open. What jobs and deliveries carry, and every change, is for whoever has the admin
token: in a header, or in exchange for a cookie that a form gives. In lab mode whoever sits at this
machine needs none.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.security import HTTPAuthorizationCredentials

from server.access import may_change_state
from server.problems import ProblemError
from server.settings import Settings, is_loopback

COOKIE = "workers-operator"
STAYS_S = 12 * 3600
"""For how long the cookie lets its bearer in."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """What the sender of a request may see and do."""

    operator: bool
    """May see what jobs carry, and change things."""
    by_cookie: bool
    can_enter: bool
    """Whether there is a token to enter with."""


def visitor_of(request: Request) -> Visitor:
    """What the sender of a request for a page may see."""
    settings: Settings = request.app.state.settings
    by_cookie = _has_cookie(request, settings)
    operator = by_cookie or _has_token(request) or _sits_here(request, settings)
    return Visitor(operator, by_cookie, settings.admin_token is not None)


def let_change(request: Request) -> None:
    """Lets a form through, or raises a problem: 401 for who is no operator, 403 from elsewhere.

    A cookie comes along with a form of any page, so it counts only for a form of our own.
    """
    settings: Settings = request.app.state.settings
    if _has_cookie(request, settings):
        if not from_same_origin(request):
            raise ProblemError(HTTPStatus.FORBIDDEN, "This form comes from another page.")
        return
    may_change_state(request, _credentials(request))


def enter(request: Request, token: str) -> str | None:
    """The cookie's value for whoever knows the admin token; None for whoever does not.

    Raises a problem, 403, for a form from elsewhere.
    """
    if not from_same_origin(request):
        raise ProblemError(HTTPStatus.FORBIDDEN, "This form comes from another page.")
    settings: Settings = request.app.state.settings
    known = settings.admin_token
    if known is None or not hmac.compare_digest(token.encode(), known.get_secret_value().encode()):
        return None
    until = str(int(time.time()) + STAYS_S)
    return signed(known.get_secret_value(), until)


def from_same_origin(request: Request) -> bool:
    """Whether a browser says that a page of this origin sent this, whatever the host's name.

    The scheme is not compared: what ends TLS may stand in front of us.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host")


def _has_cookie(request: Request, settings: Settings) -> bool:
    cookie = request.cookies.get(COOKIE, "")
    until = cookie.partition(".")[0]
    if settings.admin_token is None or not (until.isascii() and until.isdigit()):
        return False
    expected = signed(settings.admin_token.get_secret_value(), until)
    return hmac.compare_digest(cookie.encode(), expected.encode()) and int(until) > time.time()


def signed(token: str, until: str) -> str:
    """The cookie that lets in until then, in seconds since 1970, for as long as the token is it."""
    signature = hmac.digest(token.encode(), f"dashboard {until}".encode(), hashlib.sha256)
    return f"{until}.{signature.hex()}"


def _credentials(request: Request) -> HTTPAuthorizationCredentials | None:
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not sent:
        return None
    return HTTPAuthorizationCredentials(scheme=scheme, credentials=sent)


def _has_token(request: Request) -> bool:
    credentials = _credentials(request)
    if credentials is None:
        return False
    try:
        may_change_state(request, credentials)
    except ProblemError:
        return False
    return True


def _sits_here(request: Request, settings: Settings) -> bool:
    """Whether this is lab mode, and a browser on this machine asks by one of its own names."""
    if not settings.lab_mode or request.client is None or not is_loopback(request.client.host):
        return False
    name = request.url.hostname
    if name is None or not is_loopback(name):
        return False
    # A page from elsewhere cannot read what it lets the browser fetch; it is refused all the same,
    # but a link that somebody follows is not.
    site = request.headers.get("sec-fetch-site")
    return site in {None, "none", "same-origin"} or request.headers.get("sec-fetch-mode") == (
        "navigate"
    )
