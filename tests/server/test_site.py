"""The site is served with the right types, precompressed, and cached as long as it can be."""

import gzip

import pytest

from server.app import create_app
from server.settings import Settings
from tests.server.conftest import listening

SCRIPT = "/assets/0123456789ab/page/main.js"


@pytest.mark.parametrize(
    ("path", "kind", "cache"),
    [
        ("/", "text/html; charset=utf-8", "no-cache"),
        ("/en/", "text/html; charset=utf-8", "no-cache"),
        ("/favicon.svg", "image/svg+xml", "no-cache"),
        ("/site.json", "application/json", "no-cache"),
        (SCRIPT, "text/javascript; charset=utf-8", "immutable"),
        ("/assets/0123456789ab/page/style.css", "text/css; charset=utf-8", "immutable"),
        ("/runtime/ba9876543210/pyodide.mjs", "text/javascript; charset=utf-8", "immutable"),
        ("/runtime/ba9876543210/pyodide.asm.wasm", "application/wasm", "immutable"),
        ("/runtime/ba9876543210/python_stdlib.zip", "application/zip", "immutable"),
        ("/runtime/ba9876543210/numpy.whl", "application/zip", "immutable"),
        ("/runtime/ba9876543210/lock.json", "application/json", "immutable"),
    ],
)
async def test_types_and_caching(client, path, kind, cache):
    """A browser takes WebAssembly and modules only under their right type."""
    response = await client.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"].replace('"', "") == kind
    assert cache in response.headers["cache-control"]
    assert response.headers["etag"]
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("accepts", "encoding"),
    [("gzip, deflate, br", "br"), ("gzip", "gzip"), ("identity", None), ("br;q=0, gzip", "gzip")],
)
async def test_the_smallest_form_that_is_taken(client, site, accepts, encoding):
    """Compressed beforehand; caches are told that it depends."""
    async with client.stream("GET", SCRIPT, headers={"Accept-Encoding": accepts}) as response:
        raw = b"".join([part async for part in response.aiter_raw()])
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["vary"] == "Accept-Encoding"
    suffix = {"br": ".br", "gzip": ".gz", None: ""}[encoding]
    assert raw == (site / (SCRIPT[1:] + suffix)).read_bytes()
    if encoding == "gzip":
        assert gzip.decompress(raw) == (site / SCRIPT[1:]).read_bytes()


async def test_html_is_revalidated(client):
    """With its ETag it costs nothing."""
    tag = (await client.get("/")).headers["etag"]
    again = await client.get("/", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


async def test_an_unknown_page_gets_the_sites_own(client):
    """As HTML, with the status 404."""
    response = await client.get("/nowhere/at/all")
    assert response.status_code == 404
    assert "Not here" in response.text
    assert response.headers["content-type"].startswith("text/html")


async def test_head_is_get_without_the_body(client):
    """The same headers."""
    head, get = await client.head(SCRIPT), await client.get(SCRIPT)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize(
    "path",
    ["/../secret", "/%2e%2e/secret", "/assets/..%2f..%2f..%2fsecret", "/%00", "/site.json%00"],
)
async def test_nothing_outside_the_folder_is_read(client, site, path):
    """However the path is written."""
    (site.parent / "secret").write_text("secret")
    response = await client.get(path)
    assert response.status_code == 404
    assert response.text != "secret"


async def test_a_site_that_was_not_built_says_so(tmp_path, module_database):
    """The API works, and the page says what to run."""
    settings = Settings(site=tmp_path / "none", DATABASE_URL=module_database)
    async with listening(create_app(settings, module_database)) as client:
        response = await client.get("/")
        assert (response.status_code, "make site" in response.text) == (503, True)
        assert (await client.get("/api/livez")).status_code == 200


async def test_a_site_built_anew_is_noticed(tmp_path, module_database):
    """No restart, and no file served with the length of its predecessor."""
    folder = tmp_path / "site"
    settings = Settings(site=folder, DATABASE_URL=module_database)
    async with listening(create_app(settings, module_database)) as client:
        assert (await client.get("/")).status_code == 503
        folder.mkdir()
        (folder / "index.html").write_text("short")
        assert (await client.get("/")).text == "short"
        (folder / "index.html").write_text("and now much longer")
        assert (await client.get("/")).text == "and now much longer"
