"""Every response carries the security headers, whatever produced it."""

import pytest

from server.app import assemble, create_api, create_app
from server.site import site as serve_site
from tests.server.conftest import NOWHERE, listening

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
        "img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def _carries(response) -> bool:
    found = {name: response.headers.get_list(name) for name in HEADERS}
    return found == {name: [value] for name, value in HEADERS.items()}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/en", 302),
        ("GET", "/nowhere", 404),
        ("POST", "/", 405),
        ("GET", "/assets/0123456789ab/page/main.js", 200),
        ("GET", "/api/queue/depth", 200),
        ("GET", "/api/livez", 200),
        ("GET", "/api/openapi.json", 200),
        ("GET", "/api/nowhere", 404),
        ("GET", "/api", 404),
        ("DELETE", "/api/queue/depth", 405),
        ("POST", "/api/deliveries", 401),
        ("GET", "/api/page-messages?limit=0", 422),
    ],
)
async def test_on_every_kind_of_response(client, method, path, status):
    """Pages, files, redirects, answers and refusals; once each, with exactly these values."""
    response = await client.request(method, path)
    assert (response.status_code, _carries(response)) == (status, True)


async def test_on_not_modified(client):
    """A 304 of a file and one of the API."""
    for path in ("/", "/api/queue/depth"):
        first = await client.get(path)
        again = await client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, _carries(again)) == (304, True)


async def test_on_a_body_that_is_too_large(client):
    """A refusal that the application never saw."""
    response = await client.post("/api/deliveries", content=b"x" * 70_000)
    assert (response.status_code, _carries(response)) == (413, True)


async def test_on_a_crash(settings, module_database):
    """A 500 comes from outside the application's own machinery, and has them too."""
    api = create_api(settings, module_database)

    @api.get("/api/crash")
    async def crash() -> None:
        raise RuntimeError("on purpose")

    async with listening(assemble(api, serve_site(settings.site))) as client:
        response = await client.get("/api/crash")
    assert (response.status_code, _carries(response)) == (500, True)
    assert response.headers["content-type"] == "application/problem+json"
    assert "on purpose" not in response.text


async def test_on_a_database_that_is_away(impatient):
    """A 503."""
    async with listening(create_app(impatient, NOWHERE)) as client:
        response = await client.get("/api/queue/depth")
    assert (response.status_code, _carries(response)) == (503, True)
