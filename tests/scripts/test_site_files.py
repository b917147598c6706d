"""The built site: names from content, compressed twins, and any server at any path."""

from __future__ import annotations

import functools
import gzip
import json
import re
import threading
import urllib.request
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import brotli
import pytest
from bs4 import BeautifulSoup

from sitebuild.build import build
from sitebuild.failure import BuildError
from steps.place import HERE, Place
from steps.site import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def quietly(_words: str) -> None:
    """Take the build's lines and show nothing."""


def content_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class QuietHandler(SimpleHTTPRequestHandler):
    """The standard library's file server, without its log."""

    def log_message(self, *_arguments: object) -> None:
        """Write nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder over HTTP; yield its URL, which ends in a slash."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_the_same_sources_give_the_same_site(clone: Place) -> None:
    """A second build, with an empty cache, has the same names and the same bytes."""
    build(clone, base="/", say=quietly)
    first = content_of(clone.site)
    clone.cache.rename(clone.root / "cache-of-the-first")
    build(clone, base="/", say=quietly)
    assert content_of(clone.site) == first


def test_a_changed_file_changes_the_folder_s_name(clone: Place) -> None:
    """What may be cached for ever never changes under its name."""
    build(clone, base="/", say=quietly)
    before = json.loads((clone.site / "site.json").read_text("utf-8"))["assets"]
    (clone.root / "page" / "style.css").write_text("body { margin: 1px }\n", "utf-8")
    build(clone, base="/", say=quietly)
    assert json.loads((clone.site / "site.json").read_text("utf-8"))["assets"] != before


def test_twins_hold_what_the_file_holds(clone: Place) -> None:
    """`.br` and `.gz` unpack to the file beside them; what is small has none."""
    build(clone, base="/", say=quietly)
    files = content_of(clone.site)
    packed = {name for name in files if name.endswith((".br", ".gz"))}
    assert any(name.endswith("main.js.br") for name in packed)
    for name in packed:
        unpack = brotli.decompress if name.endswith(".br") else gzip.decompress
        assert unpack(files[name]) == files[name[:-3]]
        # A time in the header would make other bytes of the same file.
        assert name.endswith(".br") or files[name][4:8] == bytes(4)
    assert "favicon.svg.br" not in files


def test_urls_are_relative_and_lead_from_either_language(clone: Place) -> None:
    """What the German page reaches at a path, the English one reaches from one folder down."""
    build(clone, base="/", say=quietly)
    assets = json.loads((clone.site / "site.json").read_text("utf-8"))["assets"]
    for page, root, own in (("index.html", "", "./"), ("en/index.html", "../", "./")):
        soup = BeautifulSoup((clone.site / page).read_text("utf-8"), "html.parser")
        urls = [str(e.get("href") or e.get("src")) for e in soup.select("[href], [src]")]
        assert urls == [
            own,
            root or "./",
            f"{root}en/",
            f"{root}{assets}page/style.css",
            f"{root}{assets}page/main.js",
            "#top",
            f"{root}api/queue/depth",
            "https://example.org/",
            f"{root}{assets}samples/a.png",
        ]
        metas = {str(m.get("name")): m.get("content") for m in soup.select("meta[name]")}
        assert metas["site-root"] == (root or "./")
        assert metas["site-assets"] == assets


def test_the_repository_s_site_works_below_any_path(tmp_path: Path) -> None:
    """Every URL of both pages, of the style and of the modules answers, at a sub-path."""
    (tmp_path / "some" / "where").mkdir(parents=True)
    (tmp_path / "some" / "where" / "else").symlink_to(HERE.site)
    with served(tmp_path) as origin:
        home = urljoin(origin, "some/where/else/")
        waiting, seen = [home, urljoin(home, "en/")], set()
        while waiting:
            url = waiting.pop().partition("#")[0]
            if url in seen or not url.startswith(origin) or "/api/" in url:
                continue
            seen.add(url)
            assert url.startswith(home)
            with urllib.request.urlopen(url) as answer:  # noqa: S310 (our own server)
                assert answer.status == 200
                text = answer.read().decode("utf-8", "replace")
            waiting += [urljoin(url, link) for link in links(url, text)]
    assert any(url.endswith("/page/main.js") for url in seen)
    assert any(url.endswith(".woff2") for url in seen)


def links(url: str, text: str) -> list[str]:
    """Return what a page, a style sheet or a module refers to."""
    if url.endswith("/"):
        soup = BeautifulSoup(text, "html.parser")
        return [str(e.get("href") or e.get("src")) for e in soup.select("[href], [src]")]
    if url.endswith(".css"):
        return re.findall(r"url\(\"?([^\")]+)\"?\)", text)
    if url.endswith(".js"):
        return re.findall(r"^(?:import|export) (?:[^;]*? from )?\"(\.[^\"]+)\"", text, re.MULTILINE)
    return []


def test_only_the_page_for_what_is_missing_knows_its_path(clone: Place) -> None:
    """404.html, which is shown at any path, leads to the path that was given."""
    build(clone, base="/sub/path/", say=quietly)
    soup = BeautifulSoup((clone.site / "404.html").read_text("utf-8"), "html.parser")
    assert {str(a["href"]) for a in soup.select("a")} == {"/sub/path/", "/sub/path/en/"}
    with pytest.raises(BuildError, match="slash"):
        build(clone, base="sub", say=quietly)


def test_a_typeface_comes_from_its_package_or_stops_the_build(clone: Place) -> None:
    """A style sheet's `fonts/NAME.woff2` is taken from npm's package of that name."""
    style = clone.root / "page" / "style.css"
    style.write_text('@font-face { src: url("fonts/garamond.woff2") }\n', "utf-8")
    with pytest.raises(BuildError, match="garamond"):
        build(clone, base="/", say=quietly)
    package = clone.node_modules / "@fontsource-variable" / "garamond" / "files"
    package.mkdir(parents=True)
    (package / "garamond-latin-wght-normal.woff2").write_bytes(b"a typeface")
    build(clone, base="/", say=quietly)
    [font] = clone.site.rglob("garamond.woff2")
    assert font.read_bytes() == b"a typeface"


def test_the_parts_of_the_style_are_served_as_one_file(clone: Place) -> None:
    """They stand in the order of their imports; a part that is missing stops the build."""
    style = clone.root / "page" / "style.css"
    style.write_text('@import "./style/first.css";\n@import "./style/second.css";\n', "utf-8")
    (style.parent / "style").mkdir()
    (style.parent / "style" / "first.css").write_text("a { color: red }\n", "utf-8")
    with pytest.raises(BuildError, match=r"imports style/second\.css"):
        build(clone, base="/", say=quietly)
    (style.parent / "style" / "second.css").write_text("b { color: blue }\n", "utf-8")
    build(clone, base="/", say=quietly)
    [served_style] = clone.site.rglob("*.css")
    assert " ".join(served_style.read_text("utf-8").split()) == "a { color: red } b { color: blue }"
    style.write_text('@import url("elsewhere.css");\n', "utf-8")
    with pytest.raises(BuildError, match="must name a part"):
        build(clone, base="/", say=quietly)


def test_damage_to_a_built_site_is_seen(tmp_path: Path) -> None:
    """A file that is missing, new or cut short changes what set-up's stamp was made for."""
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "index.html").write_text("whole")
    whole = shape_of(tmp_path)
    (tmp_path / "en" / "index.html").write_text("cut")
    cut = shape_of(tmp_path)
    (tmp_path / "en" / "index.html").unlink()
    assert len({whole, cut, shape_of(tmp_path)}) == 3
