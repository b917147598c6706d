"""Serves the built site: precompressed where the browser takes it, cached as long as it can be."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from pathlib import Path
from wsgiref.headers import Headers

from servestatic import ServeStaticASGI  # type: ignore[import-untyped]
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from server.problems import problem_response

log = logging.getLogger(__name__)

IMMUTABLE = re.compile(r"^/(assets|runtime)/[^/]+/")
TYPES = {
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".toml": "text/plain",
    ".wasm": "application/wasm",
    ".whl": "application/zip",
    ".zip": "application/zip",
}
REVALIDATE = "no-cache"
IMMUTABLE_FOR_A_YEAR = "public, max-age=31536000, immutable"


def site(folder: Path) -> ASGIApp:
    """An application that serves the site in a folder, and notices when it is built anew.

    What lies under a versioned folder may be kept for ever, all else is asked for again with its
    ETag. An unknown page gets the site's 404.html. A folder without a site answers 503 with a
    sentence until there is one. Only GET and HEAD are taken.
    """
    built, pages = _stamp(folder), _pages(folder)

    async def current(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal built, pages
        found = _stamp(folder)
        if found != built:
            built, pages = found, _pages(folder)
        await (pages if scope["method"] in {"GET", "HEAD"} else _REFUSAL)(scope, receive, send)

    return current


def _stamp(folder: Path) -> tuple[int, ...]:
    """What changes when the site is built anew."""
    stamps = []
    for name in ("index.html", "site.json"):
        try:
            found = (folder / name).stat()
        except FileNotFoundError:
            stamps.append(0)
        else:
            stamps += [found.st_mtime_ns, found.st_size, found.st_ino]
    return tuple(stamps)


def _pages(folder: Path) -> ASGIApp:
    """Serves a folder as it is at this moment."""
    if not (folder / "index.html").is_file():
        log.warning(
            "there is no built site at %s; build it with 'make site'",
            folder,
            extra={"action": "site-missing"},
        )
        return _only(
            problem_response(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The site has not been built; run 'make site'.",
                headers={"Retry-After": "30"},
            )
        )

    def cache(headers: Headers, _path: str, url: str) -> None:
        headers["Cache-Control"] = IMMUTABLE_FOR_A_YEAR if IMMUTABLE.match(url) else REVALIDATE

    files: ASGIApp = ServeStaticASGI(
        _not_found(folder / "404.html"),
        root=folder,
        index_file=True,
        max_age=None,
        allow_all_origins=False,
        mimetypes=TYPES,
        immutable_file_test=lambda _path, _url: False,
        add_headers_function=cache,
    )
    return files


def _not_found(page: Path) -> ASGIApp:
    if not page.is_file():
        return _only(problem_response(HTTPStatus.NOT_FOUND, "There is no such page."))
    return _only(
        Response(
            page.read_bytes(),
            HTTPStatus.NOT_FOUND,
            media_type="text/html",
            headers={"Cache-Control": REVALIDATE},
        )
    )


def _only(response: Response) -> ASGIApp:
    """Answers everything with one response."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await response(scope, receive, send)

    return answer


_REFUSAL = problem_response(
    HTTPStatus.METHOD_NOT_ALLOWED, "Pages can only be read.", headers={"Allow": "GET, HEAD"}
)
