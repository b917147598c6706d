"""Makes the dashboard's pages from their templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from server.dashboard.visitor import visitor_of
from server.dashboard.words import Language, Words
from server.settings import Settings

TEMPLATES = Path(__file__).with_name("templates")
PREFIXES: Mapping[Language, str] = {"de": "", "en": "/en"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of the dashboard stands, and where its links lead."""

    root: str
    """The path below which the server is reached; empty for the whole of an origin."""
    language: Language
    path: str
    """The page's own path, without root and language, as /queues/outbox."""
    query: str

    def to(self, path: str, language: Language | None = None) -> str:
        """The address of a page in this language or the one given."""
        return f"{self.root}{PREFIXES[language or self.language]}{path}"

    @property
    def own(self) -> str:
        """The page's own address with its query."""
        return self.to(self.path) + (f"?{self.query}" if self.query else "")

    def in_language(self, language: Language) -> str:
        """The same page in a language."""
        return self.to(self.path, language) + (f"?{self.query}" if self.query else "")


def place_of(request: Request) -> Place:
    """Where the page that was asked for stands."""
    root = request.scope.get("root_path", "")
    path = request.scope["path"].removeprefix(root)
    language: Language = "en" if path.startswith("/en/") else "de"
    return Place(
        root,
        language,
        path.removeprefix(PREFIXES[language]),
        request.scope["query_string"].decode(),
    )


def words_of(request: Request) -> Words:
    """The language of the page that was asked for."""
    return Words(place_of(request).language)


def page(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The page that a template makes of the values. Nobody keeps it: it is true now."""
    settings: Settings = request.app.state.settings
    place = place_of(request)
    words = Words(place.language)
    visitor = visitor_of(request)
    text = (
        _environment()
        .get_template(template)
        .render(
            place=place,
            words=words,
            say=words.say,
            visitor=visitor,
            assets=assets_of(settings.site),
            **values,
        )
    )
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store", **(headers or {})})


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def assets_of(site: Path) -> str | None:
    """Where the built site keeps its style and scripts, relative to the root; None: not built."""
    path = site / "site.json"
    try:
        stamp = path.stat().st_mtime_ns
    except FileNotFoundError:
        return None
    return _assets_in(path, stamp)


@lru_cache(maxsize=4)
def _assets_in(path: Path, _stamp: int) -> str | None:
    assets = json.loads(path.read_text("utf-8")).get("assets")
    return assets if isinstance(assets, str) else None
