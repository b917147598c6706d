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
    """An application that serves a folder as it was at this moment.

    What lies under a versioned folder may be kept for ever, all else is asked for again with its
    ETag. An unknown page gets the site's 404.html. A folder that does not exist answers 503 with
    a sentence.
    """
    if not (folder / "index.html").is_file():
        log.warning(
            "there is no built site at %s; build it with 'make site'",
            folder,
            extra={"action": "site-missing"},
        )
        return _only(
            problem_response(
                HTTPStatus.SERVICE_UNAVAILABLE, "The site has not been built; run 'make site'."
            )
        )
    missing_page = folder / "404.html"
    missing = _only(
        Response(
            missing_page.read_bytes(),
            HTTPStatus.NOT_FOUND,
            media_type="text/html",
            headers={"Cache-Control": REVALIDATE},
        )
        if missing_page.is_file()
        else problem_response(HTTPStatus.NOT_FOUND, "There is no such page.")
    )

    def cache(headers: Headers, _path: str, url: str) -> None:
        headers["Cache-Control"] = IMMUTABLE_FOR_A_YEAR if IMMUTABLE.match(url) else REVALIDATE

    files = ServeStaticASGI(
        missing,
        root=folder,
        index_file=True,
        max_age=None,
        allow_all_origins=False,
        mimetypes=TYPES,
        immutable_file_test=lambda _path, _url: False,
        add_headers_function=cache,
    )
    return _reads_only(files)


def _only(response: Response) -> ASGIApp:
    """Answers everything with one response."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await response(scope, receive, send)

    return answer


def _reads_only(app: ASGIApp) -> ASGIApp:
    refusal = problem_response(
        HTTPStatus.METHOD_NOT_ALLOWED, "Pages can only be read.", headers={"Allow": "GET, HEAD"}
    )

    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        wanted = app if scope["method"] in {"GET", "HEAD"} else refusal
        await wanted(scope, receive, send)

    return reads
