"""The OpenAPI document is complete and true."""

import importlib
import pkgutil
import re

import httpx
import pytest

import server.api
from server.app import create_app
from server.problems import Problem
from tests.server.conftest import NOWHERE, listening

ADMIN = {"Authorization": "Bearer s3cret"}
JSON = {"Content-Type": "application/json"}
ADMINS = (
    *("/api/deliveries", "/api/channels", "/api/jobs/", "/api/lab", "/api/queue/events"),
    *("/api/queue/pictures", "/api/queue/jobs", "/api/queue/files"),
    *(f"/api/queues/{{name}}/{part}" for part in ("jobs", "stuck", "limits")),
    *(f"/api/queues/{{name}}/{part}" for part in ("pause", "resume", "bring-back")),
)
KINDS = {
    "/api/metrics": "text/plain",
    "/api/queue/events": "text/event-stream",
    "/api/queues/events": "text/event-stream",
    "/api/queue/files/{name}": "application/octet-stream",
}
GOOD = {"payload": {"text": "x"}}


@pytest.fixture
async def document(client):
    """The document as it is served."""
    return (await client.get("/api/openapi.json")).json()


def _operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


async def test_every_route_is_in_it(document):
    """Whatever a module below server/api offers is served and described."""
    modules = [
        importlib.import_module(f"server.api.{module.name}")
        for module in pkgutil.iter_modules(server.api.__path__)
    ]
    offered = {
        route.path_format
        for module in modules
        if hasattr(module, "router")
        for route in module.router.routes
    }
    assert set(document["paths"]) == offered
    assert "/api/queue/depth" in offered


async def test_every_operation_says_what_it_is(document):
    """A summary, a description, and a schema for every answer with a body."""
    for path, method, operation in _operations(document):
        assert operation["summary"], (path, method)
        assert operation["description"], (path, method)
        for status, answer in operation["responses"].items():
            assert answer["description"]
            kinds = set(answer.get("content", {}))
            if status.startswith(("4", "5")):
                assert kinds == {"application/problem+json"}, (path, status)
            elif status != "304":
                assert kinds == {KINDS.get(path, "application/json")}, (path, status)


async def test_references_lead_somewhere(document):
    """Every schema that is named is there, and FastAPI's own error shapes are not."""
    schemas = document["components"]["schemas"]
    named = set()

    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                named.add(node["$ref"].removeprefix("#/components/schemas/"))
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)
    assert named <= set(schemas)
    assert "Problem" in named
    assert "HTTPValidationError" not in schemas


async def test_the_token_is_described_where_it_is_needed(document):
    """And only there."""
    assert document["components"]["securitySchemes"]["adminToken"]["scheme"] == "bearer"
    secured: dict[str, set[str]] = {}
    for path, _, operation in _operations(document):
        for scheme in operation.get("security", []):
            secured.setdefault(*scheme.keys(), set()).add(path)
    paths = set(document["paths"])
    assert secured == {
        "adminToken": {p for p in paths if p.startswith(ADMINS)} - {"/api/jobs/cost"},
        "drainToken": {"/api/queue/drain"},
        "jobsToken": {"/api/jobs/{name}/runs"},
        "metricsToken": {"/api/metrics"},
    }


async def test_examples_are_taken(client, document):
    """The example of each request is accepted as it stands."""
    schemas = document["components"]["schemas"]
    for schema, path in (
        ("DeliveryRequest", "/api/deliveries"),
        ("RetryFilter", "/api/deliveries/retry"),
        ("LabDeliveries", "/api/lab/deliveries"),
        ("Pause", "/api/channels/pigeon/pause"),
    ):
        [example] = schemas[schema]["examples"]
        response = await client.post(path, json=example, headers=ADMIN)
        assert response.is_success, (path, response.text)


async def test_no_answer_that_is_not_described(fresh_client, document, impatient):
    """Good and bad requests to everything: status and type are in the document each time."""
    tries: list[tuple[str, str, dict[str, object]]] = [
        ("GET", "/api/livez", {}),
        ("GET", "/api/readyz", {}),
        ("GET", "/api/queue/policy", {}),
        ("GET", "/api/queue/depth", {}),
        ("GET", "/api/jobs", {}),
        ("GET", "/api/jobs/cost", {}),
        ("GET", "/api/jobs/purge/runs", {}),
        ("GET", "/api/jobs/purge/runs", {"headers": ADMIN}),
        ("GET", "/api/jobs/purge/runs?before=0", {"headers": ADMIN}),
        ("GET", "/api/jobs/Purge/runs", {"headers": ADMIN}),
        ("POST", "/api/jobs/nothing/runs", {}),
        ("POST", "/api/jobs/nothing/runs", {"headers": ADMIN}),
        ("POST", "/api/jobs/purge/runs/9/cancel", {"headers": ADMIN}),
        ("GET", "/api/page-messages", {}),
        ("GET", "/api/page-messages?after=x", {}),
        ("GET", "/api/page-messages?limit=1000", {}),
        ("POST", "/api/deliveries", {"json": GOOD, "headers": ADMIN}),
        ("POST", "/api/deliveries", {"json": {}, "headers": ADMIN}),
        ("POST", "/api/deliveries", {"json": GOOD}),
        ("POST", "/api/deliveries", {"json": GOOD, "headers": {"Authorization": "Bearer no"}}),
        ("POST", "/api/deliveries", {"content": b"x" * 70_000, "headers": ADMIN}),
        ("POST", "/api/deliveries", {"content": b"{", "headers": ADMIN}),
        ("POST", "/api/deliveries", {"content": b"\xff\xfe\x1b", "headers": ADMIN | JSON}),
        ("POST", "/api/channels/page/pause", {"content": b"\xff", "headers": ADMIN | JSON}),
        ("POST", "/api/deliveries/retry", {"content": b"\xff", "headers": ADMIN | JSON}),
        ("GET", "/api/deliveries", {}),
        ("GET", "/api/deliveries", {"headers": ADMIN}),
        ("GET", "/api/deliveries", {"headers": {"Authorization": "Bearer no"}}),
        ("GET", "/api/deliveries?status=asleep", {"headers": ADMIN}),
        ("GET", "/api/deliveries?cursor=x", {"headers": ADMIN}),
        ("GET", "/api/deliveries?channel=%00", {"headers": ADMIN}),
        ("GET", "/api/deliveries/1", {"headers": ADMIN}),
        ("GET", "/api/deliveries/900", {"headers": ADMIN}),
        ("GET", "/api/deliveries/0", {"headers": ADMIN}),
        ("GET", "/api/deliveries/9223372036854775808", {"headers": ADMIN}),
        ("POST", "/api/deliveries/1/retry", {"headers": ADMIN}),
        ("POST", "/api/deliveries/900/retry", {"headers": ADMIN}),
        ("POST", "/api/deliveries/1/retry?attempts=0", {"headers": ADMIN}),
        ("POST", "/api/deliveries/1/cancel", {"headers": ADMIN}),
        ("POST", "/api/deliveries/1/cancel", {"headers": ADMIN}),
        ("POST", "/api/deliveries/1/retry", {"headers": ADMIN}),
        ("POST", "/api/deliveries/900/cancel", {"headers": ADMIN}),
        ("POST", "/api/deliveries/retry", {"json": {"status": "dead"}, "headers": ADMIN}),
        ("POST", "/api/deliveries/retry", {"json": {"status": "sent"}, "headers": ADMIN}),
        ("POST", "/api/deliveries/retry", {"json": {"status": "dead"}}),
        ("GET", "/api/channels", {"headers": ADMIN}),
        ("GET", "/api/channels", {}),
        ("POST", "/api/channels/pigeon/pause", {"headers": ADMIN}),
        ("POST", "/api/channels/pigeon/pause", {"json": {"reason": ""}, "headers": ADMIN}),
        ("POST", "/api/channels/pigeon/resume", {"headers": ADMIN}),
        ("POST", "/api/channels/pigeon/resume", {}),
        ("GET", "/api/queue/depth/history", {}),
        ("GET", "/api/queue/depth/history?minutes=0", {}),
        ("GET", "/api/metrics", {"headers": ADMIN}),
        ("GET", "/api/metrics", {}),
        ("GET", "/api/metrics", {"headers": {"Authorization": "Bearer no"}}),
        ("GET", "/api/queue/events", {}),
        ("GET", "/api/queue/events", {"headers": {"Authorization": "Bearer no"}}),
        ("GET", "/api/lab", {"headers": ADMIN}),
        ("GET", "/api/lab/workers", {"headers": ADMIN}),
        ("GET", "/api/lab/workers", {}),
        ("DELETE", "/api/lab/workers", {"headers": ADMIN}),
        ("POST", "/api/lab/workers/1/freeze", {"headers": ADMIN}),
        ("POST", "/api/lab/workers/1/thaw", {}),
        ("POST", "/api/lab/workers/1/freeze-sending", {"headers": ADMIN}),
        ("POST", "/api/lab/drains", {}),
        ("GET", "/api/lab/channel", {"headers": ADMIN}),
        ("PUT", "/api/lab/channel", {"json": {"fails": 2}, "headers": ADMIN}),
        ("PUT", "/api/lab/channel", {"json": {"fails": -2}, "headers": ADMIN}),
        ("POST", "/api/lab/deliveries", {"json": {}, "headers": ADMIN}),
        ("POST", "/api/lab/deliveries", {"content": b"\xff", "headers": ADMIN | JSON}),
        ("POST", "/api/lab/deliveries", {"content": b"x" * 70_000, "headers": ADMIN}),
        ("POST", "/api/queue/pictures", {"content": b"x", "headers": ADMIN}),
        ("POST", "/api/queue/pictures?max_side=0", {"content": b"x", "headers": ADMIN}),
        ("POST", "/api/queue/pictures", {}),
        ("GET", "/api/queue/jobs/42", {"headers": ADMIN}),
        ("GET", "/api/queue/jobs/42", {}),
        ("GET", f"/api/queue/files/{'0' * 64}.png", {"headers": ADMIN}),
        ("GET", "/api/queue/files/x", {"headers": ADMIN}),
        ("GET", "/api/queues", {}),
        ("GET", "/api/queues/default", {}),
        ("GET", "/api/queues/a b", {}),
        ("GET", "/api/queues/default/jobs?state=dead", {"headers": ADMIN}),
        ("GET", "/api/queues/default/jobs", {"headers": ADMIN}),
        ("GET", "/api/queues/default/jobs/x", {}),
        ("POST", "/api/queues/default/jobs?operation=retry", {"json": {}, "headers": ADMIN}),
        ("POST", "/api/queues/default/pause", {"headers": ADMIN}),
        ("PUT", "/api/queues/default/limits", {"json": {"rate": 1}, "headers": ADMIN}),
        ("POST", "/api/queue/drain?max_seconds=20", {"headers": ADMIN}),
        ("POST", "/api/queue/drain?max_seconds=1", {"headers": ADMIN}),
        ("POST", "/api/queue/drain", {}),
        ("POST", "/api/queue/drain", {"headers": {"Authorization": "Bearer no"}}),
    ]
    tag = (await fresh_client.get("/api/queue/depth")).headers["etag"]
    answers = [await fresh_client.get("/api/queue/depth", headers={"If-None-Match": tag})]
    answers += [await fresh_client.request(m, p, **options) for m, p, options in tries]
    async with listening(create_app(impatient, NOWHERE)) as away:
        for method, path, options in tries:
            answers.append(await away.request(method, path, **options))
    seen = set()
    for answer in answers:
        described = _described(document, answer)
        kind = answer.headers.get("content-type")
        if kind is not None:
            kind = kind.partition(";")[0]
            assert kind in described.get("content", {}), (answer.request.url, kind)
        if kind == "application/problem+json":
            Problem.model_validate(answer.json())
        seen.add(answer.status_code)
    assert seen == {200, 202, 304, 400, 401, 403, 404, 409, 413, 422, 503}


def _described(document, answer: httpx.Response):
    [path] = [
        one
        for one in document["paths"]
        if re.fullmatch(re.sub(r"\{\w+\}", r"[^/]+", one), answer.request.url.path)
        and not (one == "/api/deliveries/{number}" and answer.request.method == "POST")
    ]
    operation = document["paths"][path][answer.request.method.lower()]
    assert str(answer.status_code) in operation["responses"], (
        answer.request.method,
        answer.request.url.path,
        answer.status_code,
        answer.text,
    )
    return operation["responses"][str(answer.status_code)]


async def test_answers_have_exactly_the_fields_that_are_described(client, document):
    """No field too many, none too few."""
    await client.post("/api/deliveries", json=GOOD, headers=ADMIN)
    listed = (await client.get("/api/deliveries?limit=1", headers=ADMIN)).json()
    number = listed["deliveries"][0]["id"]
    for path in (
        "/api/queue/depth",
        "/api/queue/depth/history",
        "/api/queue/policy",
        "/api/page-messages",
        "/api/livez",
        "/api/deliveries",
        "/api/deliveries/{number}",
        "/api/channels",
        "/api/lab",
        "/api/lab/channel",
        "/api/lab/workers",
    ):
        operation = document["paths"][path]["get"]
        reference = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        schema = document["components"]["schemas"][reference.rsplit("/", 1)[1]]
        answer = await client.get(path.format(number=number), headers=ADMIN)
        assert set(answer.json()) == set(schema["properties"])
