"""What the OpenAPI document says holds for requests that nobody has thought of."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from server.app import create_app
from server.outbox import NewDelivery, Settlement, Status, claim, enqueue, settle
from tests.redisq.servers import server
from tests.server.conftest import listening

FULL = os.environ.get("WORKERS_TEST_FULL") == "1"

ALWAYS = """
[[operations]]
# A stream that has no end.
include-name = "GET /api/queue/events"
enabled = false

[[operations]]
# The same.
include-name = "GET /api/queues/events"
enabled = false

[[operations]]
# Which operation a state allows cannot be said in a schema.
include-name = "POST /api/queues/{name}/jobs"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 422]

[[operations]]
# That a score is finite cannot be said in one either.
include-name = "GET /api/queues/{name}/jobs"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 404, 422]

[[operations]]
# Which bytes are a picture cannot be said in a schema.
include-name = "POST /api/queue/pictures"
checks.positive_data_acceptance.expected-statuses = ["2xx", 401, 403, 413, 422]

[[operations]]
# That a cursor belongs to the list of one status cannot be said in a schema.
include-name = "GET /api/deliveries"
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404]
"""

ELSEWHERE = r"^/api/(lab|queues/\{name\}/(pause|resume|bring-back|stuck))"
"""As many again, for a toy, and for what takes a queue's name and nothing else."""

SHORT = """
[[operations]]
# Most of the time goes into making addresses up, and the random ones do it too.
include-name = "POST /api/deliveries"
phases.coverage.enabled = false
"""


@pytest.fixture
async def deliveries(connection):
    """A few deliveries of every status, under the ids that are tried first."""
    ids = await enqueue(connection, [NewDelivery("page", "page", {"text": "x"})] * 40)
    taken = await claim(connection, holder="a", channels=["page"], limit=20, lease_s=3600)
    ends = [Status.SENT, Status.FAILED, Status.DEAD] * 5
    await settle(
        connection,
        [Settlement(one.id, 1, end, "x") for one, end in zip(taken, ends, strict=False)],
    )
    return ids


@pytest.fixture
def valkey():
    """A server for the queue of jobs."""
    with server("valkey") as made:
        yield made


@pytest.fixture
async def url(settings, database, valkey, tmp_path):
    """Where an application listens that starts no workers, and whose drains are quick."""
    quick = {"lab": "on", "lab_workers": 0, "page_send_s": 0.0, "batch": 1000, "concurrency": 100}
    quick |= {"redis_url": f"unix://{valkey.socket}", "data_dir": tmp_path}
    async with listening(create_app(settings.model_copy(update=quick), database)) as client:
        yield client.base_url


@pytest.mark.timeout(1800 if FULL else 600)
async def test_requests_made_from_the_document_find_nothing(url, deliveries, tmp_path):
    """Good ones are taken, bad ones refused, and every answer is as it is described."""
    assert deliveries[0] == 1
    (tmp_path / "schemathesis.toml").write_text(ALWAYS + ("" if FULL else SHORT), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("st"),
        "run",
        f"{url}/api/openapi.json",
        "--header=Authorization: Bearer s3cret",
        "--checks=all",
        "--seed=4",
        f"--max-examples={100 if FULL else 5}",
        "--request-timeout=60",
        "--no-color",
        *([] if FULL else [f"--exclude-path-regex={ELSEWHERE}"]),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
