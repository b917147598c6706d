"""From the source of the page to the pages that are served."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sitebuild.failure import BuildError
from sitebuild.markup import Edits, elements_of, escaped

if TYPE_CHECKING:
    from sitebuild.markup import Element

_URL_ATTRIBUTES = ("href", "src", "poster", "action", "data")
# What needs no prefix: a fragment, an absolute path, another origin, or data in the URL itself.
_ELSEWHERE = re.compile(r"(#|/|[a-zA-Z][a-zA-Z0-9+.-]*:|$)")
_IN_ASSETS = re.compile(r"(page/|samples/|worker\.js$)")


class Where(NamedTuple):
    """Where a page and what it needs lie. Folders are relative to the site's root, ending in /."""

    language: str
    root: str  # from the page to the site's root
    assets: str
    runtime: str
    build: str  # names this build of the whole site


def placed(source: str, where: Where) -> str:
    """Return a page whose language, metas and URLs are right for where it is served.

    URLs of the source are relative to the repository's root; those of the assets get the
    versioned folder. Raises BuildError if the page has no place for what scripts must know.
    """
    edits = Edits(source)
    wanted = {
        "site-root": where.root,
        "site-assets": where.assets,
        "site-runtime": where.runtime,
        "site-build": where.build,
    }
    for element in elements_of(source):
        if element.tag == "html" and (lang := element.attributes.get("lang")):
            edits.replace(lang.start, lang.end, where.language)
        name = element.get("name") if element.tag == "meta" else None
        content = element.attributes.get("content")
        if name in wanted and content:
            edits.replace(content.start, content.end, escaped(wanted.pop(name)))
        for attribute_name in _URL_ATTRIBUTES:
            attribute = element.attributes.get(attribute_name)
            if attribute:
                url = _url(attribute.value, element, where)
                edits.replace(attribute.start, attribute.end, escaped(url))
    if wanted:
        raise BuildError(f"index.html has no <meta> for {', '.join(sorted(wanted))}")
    return edits.applied()


def require_same_ids(german: str, english: str) -> None:
    """Raise BuildError, naming the ids, unless both pages have the same ones, each once."""
    ids = [
        [found for element in elements_of(page) if (found := element.get("id"))]
        for page in (german, english)
    ]
    for page_ids in ids:
        doubled = sorted({name for name in page_ids if page_ids.count(name) > 1})
        if doubled:
            raise BuildError(f"ids that stand twice on a page: {', '.join(doubled)}")
    different = sorted(set(ids[0]) ^ set(ids[1]))
    if different:
        raise BuildError(f"ids that only one language has: {', '.join(different)}")


def _url(url: str, element: Element, where: Where) -> str:
    if element.tag == "link" and element.get("rel") == "canonical":
        return "./"
    if _ELSEWHERE.match(url):
        return url
    path = url.removeprefix("./")
    if _IN_ASSETS.match(path):
        path = where.assets + path
    return (where.root + path).removeprefix("./") or "./"
