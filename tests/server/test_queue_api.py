"""Pictures go up, become jobs, and what comes of them comes down again."""

import asyncio
import io

import httpx
import pytest
from PIL import Image
from redis.asyncio import Redis

import handlers
from server.app import create_app
from server.redisq import NewJob
from server.tasks import new_tasks
from server.tasks.files import KeptFiles
from tests.corpus import Sample, broken, small
from tests.redisq.servers import server
from tests.server.conftest import NOWHERE, listening
from tests.server.queues import at_work, ended, engine_of

ADMIN = {"Authorization": "Bearer s3cret"}
PICTURES = "/api/queue/pictures"
SAMPLES = small()
PNG = SAMPLES["rgb.png"].data


@pytest.fixture(scope="module")
def valkey():
    """A Valkey that the tests of this file share."""
    with server("valkey") as made:
        yield made


@pytest.fixture
async def queueing(settings, valkey, tmp_path):
    """The settings of the file with a queue on an empty server, and a folder of the test's own."""
    url = f"unix://{valkey.socket}"
    async with Redis.from_url(url) as client:
        await client.flushall()
    more = {"redis_url": url, "data_dir": tmp_path, "picture_bytes": 200_000}
    return settings.model_copy(update=more)


@pytest.fixture
async def api(queueing, module_database):
    """A client of an application that has a queue; no worker is at work."""
    async with listening(create_app(queueing, module_database)) as client:
        client.headers.update(ADMIN)
        yield client


def _detail(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    errors = problem.get("errors", [])
    return " ".join([problem["detail"], *(error["message"] for error in errors)])


def _told(result):
    return {key: value for key, value in result.items() if key not in {"stages", "runtime"}}


async def _work_off(queueing, id_):
    """Lets a worker run until this job has ended."""
    async with (
        engine_of(queueing) as engine,
        at_work(queueing, new_tasks(queueing, engine, None)),
    ):
        return await ended(engine, id_)


async def test_a_picture_is_counted_by_a_worker(api, queueing):
    """202 with the place where the result will be; it equals what the page's function gives."""
    sample: Sample = SAMPLES["alpha.png"]
    accepted = await api.post(PICTURES, content=sample.data, params={"max_side": 32})
    assert accepted.status_code == 202
    place = accepted.headers["location"]
    assert place == f"/api/queue/jobs/{accepted.json()['id']}"
    waiting = (await api.get(place)).json()
    assert (waiting["state"], waiting["task"], waiting["result"]) == ("ready", "histogram", None)
    await _work_off(queueing, accepted.json()["id"])
    shown = await api.get(place)
    assert shown.headers["cache-control"] == "no-store"
    job = shown.json()
    assert (job["state"], job["progress"], job["error"]) == ("done", 1.0, None)
    assert job["queued_at"] <= job["ended_at"]
    here = handlers.run("histogram", {"image": sample.data, "max_side": 32})
    assert _told(job["result"]) == _told(here)


async def test_a_smaller_picture_comes_down_again(api, queueing):
    """As a file that its job names, to be saved and not shown."""
    accepted = await api.post(PICTURES, content=PNG, params={"task": "resize_image", "max_side": 9})
    job = await _work_off(queueing, accepted.json()["id"])
    name = job.result["image"]["file"]
    file = await api.get(f"/api/queue/files/{name}")
    assert file.status_code == 200
    assert file.headers["content-disposition"] == f'attachment; filename="{name}"'
    assert file.headers["x-content-type-options"] == "nosniff"
    assert max(Image.open(io.BytesIO(file.content)).size) <= 9
    (KeptFiles.of(queueing).folder / name).unlink()
    assert "any longer" in _detail(await api.get(f"/api/queue/files/{name}"), 404)


async def test_what_is_no_picture_is_refused_at_once(api, queueing):
    """Each kind of broken file by its own word; nothing is kept, nothing enqueued."""
    kinds = {one.codes: one for one in broken() if len(one.data) < 200_000}
    assert len(kinds) > 5
    for codes, one in kinds.items():
        said = _detail(await api.post(PICTURES, content=one.data), 422)
        assert any(code in said for code in codes), (one.name, said)
    async with engine_of(queueing) as engine:
        assert sum((await engine.depth()).values()) == 0
    assert not KeptFiles.of(queueing).folder.exists()


async def test_a_picture_may_be_larger_than_other_bodies_but_not_any_size(api):
    """413 beyond the setting, whether the length is announced or not."""
    large = PNG + bytes(100_000)
    assert (await api.post(PICTURES, content=large)).status_code == 202
    too_large = PNG + bytes(200_000)
    assert "200000 bytes" in _detail(await api.post(PICTURES, content=too_large), 413)

    async def in_parts():
        for start in range(0, len(too_large), 50_000):
            yield too_large[start : start + 50_000]

    assert "200000 bytes" in _detail(await api.post(PICTURES, content=in_parts()), 413)
    assert "65536" in _detail(await api.post("/api/deliveries", content=large), 413)


async def test_wrong_options_and_unknown_jobs_are_named(api):
    """By their fields and ids."""
    assert "query.task" in _detail(await api.post(PICTURES, content=PNG, params={"task": "x"}), 422)
    assert "query.max_side" in _detail(
        await api.post(PICTURES, content=PNG, params={"max_side": 0}), 422
    )
    assert "no job 42" in _detail(await api.get("/api/queue/jobs/42"), 404)
    _detail(await api.get("/api/queue/jobs/a%20b"), 422)
    _detail(await api.get("/api/queue/files/lock"), 422)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", PICTURES),
        ("GET", "/api/queue/jobs/42"),
        ("GET", f"/api/queue/files/{'0' * 64}.png"),
    ],
)
async def test_nobody_without_the_token(api, method, path):
    """As for deliveries: pictures and results are nobody else's business."""
    del api.headers["Authorization"]
    _detail(await api.request(method, path), 401)
    _detail(await api.request(method, path, headers={"Authorization": "Bearer no"}), 403)


async def test_a_failed_job_says_why(api, queueing):
    """Its error and the reason why it is dead."""
    async with engine_of(queueing) as engine:
        id_ = await engine.enqueue(NewJob(task="square", payload={"x": "seven"}))
    await _work_off(queueing, id_)
    job = (await api.get(f"/api/queue/jobs/{id_}")).json()
    assert (job["state"], job["reason"], job["attempts"]) == ("dead", "refused", 1)
    assert "bad-payload" in job["error"]


async def test_a_folder_that_is_full_takes_no_more(queueing, module_database):
    """503 with a time after which to try again; what is there already needs no room."""
    tight = queueing.model_copy(update={"files_bytes": len(PNG) + 4096})
    async with listening(create_app(tight, module_database)) as client:
        for name, status in (("rgb.png", 202), ("alpha.png", 503), ("rgb.png", 202)):
            data = SAMPLES[name].data
            response = await client.post(PICTURES, content=data, headers=ADMIN)
            assert response.status_code == status, (name, len(data), response.text)
            if status == 503:
                assert response.headers["retry-after"] == "600"


async def test_memory_that_is_full_is_said(api, queueing):
    """The picture waits for its retention, and the caller is told to come again."""
    async with Redis.from_url(queueing.redis_url) as client:
        await client.config_set("maxmemory", 1)
        try:
            response = await api.post(PICTURES, content=PNG)
        finally:
            await client.config_set("maxmemory", 0)
    assert "memory is full" in _detail(response, 503)
    assert response.headers["retry-after"] == "30"


async def test_without_a_queue_the_rest_goes_on(settings, module_database, tmp_path):
    """Off, or away: readyz says it and stays 200, the queue's operations answer 503."""
    away = {"redis_url": f"unix://{tmp_path}/nobody", "data_dir": tmp_path}
    for changed, word in (({"redis_url": None}, "off"), (away, "away")):
        app = create_app(settings.model_copy(update=changed), module_database)
        async with listening(app) as client:
            ready = await client.get("/api/readyz")
            assert (ready.status_code, ready.json()) == (200, {"status": "ok", "queue": word})
            added = await client.post(
                "/api/deliveries", json={"payload": {"text": "x"}}, headers=ADMIN
            )
            assert added.status_code == 202
            said = _detail(await client.get("/api/queue/jobs/42", headers=ADMIN), 503)
            assert "queue" in said


async def test_readyz_says_that_the_queue_is_there(api, queueing):
    """And without a database it is still 503, whatever the queue does."""
    assert (await api.get("/api/readyz")).json() == {"status": "ok", "queue": "ok"}
    impatient = queueing.model_copy(update={"database_wait_s": 0.1})
    async with listening(create_app(impatient, NOWHERE)) as client:
        _detail(await client.get("/api/readyz"), 503)


async def test_many_pictures_at_once_are_decoded_one_by_one(api):
    """All are taken; a picture in memory is large, so it is one at a time."""
    names = ["rgb.png", "alpha.png", "profile.png"] * 3
    answers = await asyncio.gather(
        *(api.post(PICTURES, content=SAMPLES[name].data) for name in names)
    )
    assert [answer.status_code for answer in answers] == [202] * len(names)
    assert len({answer.json()["id"] for answer in answers}) == len(names)
