"""Every error of the API is a problem detail with a sentence."""

import textwrap

import pytest

from server.app import create_app
from tests.server.conftest import NOWHERE, listening

ADMIN = {"Authorization": "Bearer s3cret"}


async def _problem(client, method, path, status, **options):
    response = await client.request(method, path, **options)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status
    assert problem["type"]
    assert problem["title"]
    assert problem["detail"].endswith((".", "'.", ">'."))
    return response, problem


async def test_nothing_there(client):
    """404 names what was asked for."""
    _, problem = await _problem(client, "GET", "/api/nowhere", 404)
    assert "/api/nowhere" in problem["detail"]


async def test_wrong_method(client):
    """405 says which methods there are."""
    response, problem = await _problem(client, "PUT", "/api/deliveries", 405)
    assert response.headers["allow"] == "GET, POST"
    assert "PUT" in problem["detail"]
    response, _ = await _problem(client, "GET", "/api/deliveries/retry", 405)
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["body.payload"]),
        ({"payload": {}}, ["body.payload.text"]),
        ({"payload": {"text": ""}}, ["body.payload.text"]),
        ({"payload": {"text": "x"}, "count": 0}, ["body.count"]),
        ({"payload": {"text": "x"}, "count": 1001}, ["body.count"]),
        ({"payload": {"text": "x"}, "channel": "pigeon"}, ["body.channel"]),
        ({"payload": {"text": "x"}, "colour": "red"}, ["body.colour"]),
        ({"payload": {"text": "x" * 501}, "count": "many"}, ["body.count", "body.payload.text"]),
        ([], ["body"]),
    ],
    ids=lambda value: textwrap.shorten(str(value), 80),
)
async def test_what_does_not_fit_is_named(client, body, fields):
    """422 names each field at fault."""
    _, problem = await _problem(client, "POST", "/api/deliveries", 422, json=body, headers=ADMIN)
    assert sorted(error["field"] for error in problem["errors"]) == fields
    assert all(field in problem["detail"] for field in fields)


async def test_no_json_at_all(client):
    """A body that cannot be read is a fault of the request."""
    headers = ADMIN | {"content-type": "application/json"}
    await _problem(client, "POST", "/api/deliveries", 422, content=b"{", headers=headers)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_is_not_called_json_is_told_so(client, kind):
    """What is at fault is the header, whatever the body is."""
    content = '{"payload": {"text": "x"}}'
    headers = ADMIN | {"content-type": kind}
    _, problem = await _problem(
        client, "POST", "/api/deliveries", 422, content=content, headers=headers
    )
    [error] = problem["errors"]
    assert error["field"] == "body"
    assert "Content-Type: application/json" in error["message"]


@pytest.mark.parametrize("text", ["a\\u0000b", "\\ud800"])
async def test_what_the_database_cannot_hold_is_refused_before_it(client, text):
    """A null character, half a surrogate pair: the answer names the field."""
    _, problem = await _problem(
        client,
        "POST",
        "/api/deliveries",
        422,
        content=f'{{"payload": {{"text": "{text}"}}}}',
        headers=ADMIN | {"content-type": "application/json"},
    )
    assert problem["errors"][0]["field"] == "body.payload.text"


async def test_too_large_by_announcement_and_by_count(client):
    """Whether or not the request says how long it is."""
    headers = ADMIN | {"content-type": "application/json"}

    async def unannounced():
        for _ in range(20):
            yield b" " * 5_000

    await _problem(client, "POST", "/api/deliveries", 413, content=b" " * 70_000, headers=headers)
    await _problem(client, "POST", "/api/deliveries", 413, content=unannounced(), headers=headers)


async def test_a_database_that_is_away(impatient):
    """503 says when to come back; the server itself lives, and the site is served."""
    async with listening(create_app(impatient, NOWHERE)) as client:
        for path in ("/api/queue/depth", "/api/readyz", "/api/page-messages"):
            response, problem = await _problem(client, "GET", path, 503)
            assert int(response.headers["retry-after"]) > 0
            assert "database" in problem["detail"]
        assert (await client.get("/api/livez")).status_code == 200
        assert (await client.get("/")).status_code == 200
        assert (await client.get("/api/queue/policy")).status_code == 200
