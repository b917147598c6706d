"""Jobs over HTTP and on the command line: who may wake them, and that each is a process."""

import asyncio
import json
import signal

import psutil

from server.app import create_app
from server.jobs import store
from server.jobs.model import Waker
from tests.server.conftest import listening
from tests.server.program import Program, await_end, run

ADMIN = {"Authorization": "Bearer s3cret"}
PATIENCE_S = 60.0
NAMES = ["drain", "reap", "purge", "depth-history", "verify-depth"]


async def test_the_list_says_what_wakes_each(client):
    """Everybody may see it; nothing in it names a host or an error."""
    answer = (await client.get("/api/jobs")).json()
    assert [job["name"] for job in answer["jobs"]] == NAMES
    jobs = {job["name"]: job for job in answer["jobs"]}
    assert jobs["purge"]["triggers"] == ["17 2 * * * (UTC)"]
    assert (jobs["purge"]["catch_up"], jobs["reap"]["catch_up"]) == ("once", "skip")
    # This server does not wake them when they are due, so none of them is.
    assert (answer["waking"], jobs["purge"]["next_due_at"]) == (False, None)


async def test_who_may_wake_a_job(settings, database):
    """A scheduler with a token for that, which opens nothing else; the page, in lab mode."""
    own = settings.model_copy(
        update={"jobs_token": type(settings.admin_token)("cron"), "lab": "off"}
    )
    async with listening(create_app(own, database)) as client:
        runs, nothing = "/api/jobs/verify-depth/runs", "/api/jobs/nothing/runs"

        async def status(method, path, token=None):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return (await client.request(method, path, headers=headers)).status_code

        assert await status("POST", nothing) == 401
        assert await status("POST", nothing, "wrong") == 403
        assert await status("POST", nothing, "cron") == 404
        assert await status("GET", runs) == 401
        assert await status("GET", runs, "cron") == 403
        assert await status("GET", runs, "s3cret") == 200
        assert await status("POST", f"{runs}/1/cancel", "cron") == 403
        assert await status("POST", f"{runs}/1/cancel", "s3cret") == 404


async def test_without_any_token_a_call_is_off(settings, database):
    """It says so instead of comparing."""
    own = settings.model_copy(update={"admin_token": None})
    async with listening(create_app(own, database)) as client:
        answer = await client.post(
            "/api/jobs/reap/runs", headers={"Authorization": "Bearer something"}
        )
    assert answer.status_code == 404
    assert "WORKERS_JOBS_TOKEN" in answer.json()["detail"]


async def test_a_job_that_is_woken_is_a_process_until_it_ends(
    settings, database, connection, rows, monkeypatch
):
    """One at a time; it can be cancelled; and afterwards nothing of it is left but its record."""
    monkeypatch.setenv("WORKERS_PAGE_SEND_S", "1")
    await rows.add(connection, 500)
    async with listening(create_app(settings, database)) as client:
        begun = await client.post("/api/jobs/drain/runs", headers=ADMIN)
        assert begun.status_code == 202
        number = begun.json()["run"]
        [process] = (await client.get("/api/jobs/cost")).json()["jobs"]["processes"]
        assert (process["job"], process["run"]) == ("drain", number)
        alive = psutil.Process(process["pid"])
        again = await client.post("/api/jobs/drain/runs", headers=ADMIN)
        assert (again.status_code, f"run {number};" in again.json()["detail"]) == (409, True)
        cancel = f"/api/jobs/drain/runs/{number}/cancel"
        assert (await client.post(cancel, headers=ADMIN)).status_code == 202
        run = await asyncio.wait_for(_ended(client, "drain"), PATIENCE_S)
        assert (run["outcome"], run["cancelled_by"]) == ("cancelled", "127.0.0.1")
        assert (run["waker"], run["scheduled_for"]) == ("call", None)
        assert run["cpu_s"] > 0
        assert run["memory_bytes"] > 2**20
        assert (await client.post(cancel, headers=ADMIN)).status_code == 409
        await asyncio.to_thread(await_end, alive)
        page = (await client.get("/api/jobs/drain/runs?limit=1", headers=ADMIN)).json()
        assert (len(page["runs"]), page["before"]) == (1, None)
        shown = (await client.get("/api/jobs")).json()["jobs"][0]["last_run"]
        assert (shown["run"], shown["outcome"]) == (number, "cancelled")


async def _ended(client, name):
    while True:
        [run] = (await client.get(f"/api/jobs/{name}/runs", headers=ADMIN)).json()["runs"]
        if run["outcome"] != "running":
            return run
        await asyncio.sleep(0.1)


async def test_the_end_of_the_server_is_the_end_of_its_runs(
    settings, database, connection, rows, monkeypatch
):
    """They are told, and write down that they were."""
    monkeypatch.setenv("WORKERS_PAGE_SEND_S", "1")
    await rows.add(connection, 500)
    async with listening(create_app(settings, database)) as client:
        assert (await client.post("/api/jobs/drain/runs", headers=ADMIN)).status_code == 202
        [process] = (await client.get("/api/jobs/cost")).json()["jobs"]["processes"]
        alive = psutil.Process(process["pid"])
    await asyncio.to_thread(await_end, alive)
    [run] = await store.history(connection)
    # One that had not got as far as to hear of it is lost, as soon as its lease is over.
    assert run.outcome in {"cancelled", "lost", "running"}


def test_a_server_without_a_worker_empties_the_queue_by_a_job(database):
    """Every minute, by the database's clock, a process comes into being and goes."""
    assert run("enqueue", "--count", "3", DATABASE_URL=database).returncode == 0
    program = Program(
        "serve", "--no-worker", "--port", "0", DATABASE_URL=database, WORKERS_JOBS="on"
    )
    try:
        while (ended := program.until("job-end"))["job"] != "drain":
            pass
        assert ended["outcome"] == "succeeded"
        program.signal(signal.SIGINT)
        assert program.ended() == 0
    finally:
        program.close()
    depth = json.loads(run("depth", "--json", DATABASE_URL=database).stdout)
    assert (depth["sent"], depth["pending"]["total"]) == (3, 0)


async def test_on_the_command_line(database, connection):
    """It runs here and now, unless somebody runs it already; and its exit code says which."""
    done = run("jobs", "run", "verify-depth", "--json", DATABASE_URL=database)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert (document["outcome"], document["report"]) == ("succeeded", {"differences": 0})
    assert document["waker"] == "command"
    cancelled = run("jobs", "cancel", str(document["id"]), DATABASE_URL=database)
    assert (cancelled.returncode, "is succeeded" in cancelled.stderr) == (1, True)
    await store.register(connection, ["reap"])
    await store.begin(
        connection, "reap", waker=Waker.CLICK, woken_by="x", holder="x", lease_s=300.0
    )
    busy = run("jobs", "run", "reap", DATABASE_URL=database)
    assert (busy.returncode, "runs already" in busy.stderr) == (4, True)
    shown = run("jobs", "history", "--json", DATABASE_URL=database)
    assert [one["job"] for one in json.loads(shown.stdout)] == ["reap", "verify-depth"]


def test_a_job_that_is_not_there(database):
    """It is refused before any database is asked, and those that are there are named."""
    refused = run("jobs", "run", "nothing", DATABASE_URL=database)
    assert refused.returncode == 2
    assert ", ".join(NAMES) in refused.stderr
