"""The lab: workers that are frozen and killed while somebody watches, and what bounds it."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import httpx
import psutil
import psycopg
import pytest

from server.app import create_app
from server.database import open_pool
from server.lab.behaviour import CHANNEL, Behaviour, prepare, set_behaviour
from server.lab.channel import LabChannel
from server.lab.figures import scaled
from server.lab.worker import Kind
from server.lab.workers import (
    LabWorkers,
    State,
    TooManyWorkersError,
    UnknownWorkerError,
    WrongStateError,
)
from server.outbox import NewDelivery, Turn, enqueue
from server.settings import Settings
from tests.conftest import Place
from tests.server.conftest import TABLE, listening
from tests.server.program import Program, await_end
from tests.server.stream import streaming

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}
SCALE = 0.01
"""A lease of 3 s."""


@pytest.fixture
def place(emptied: Place) -> Place:
    """One for the file: making one for each test would take longer than the tests."""
    return emptied


@pytest.fixture
def lab_settings(settings) -> Settings:
    """Those of the file, with the lab's time running fast."""
    return settings.model_copy(update={"lab_time_scale": SCALE})


@pytest.fixture
async def lab(lab_settings, database):
    """A client that passes for the page, of an application whose database is the test's own."""
    async with listening(create_app(lab_settings, database)) as client:
        client.headers.update(OWN_PAGE)
        yield client


async def _post(client, path: str, status: int = 200, **body):
    answer = await client.post(f"/api/lab/{path}", json=body or None)
    assert answer.status_code == status, answer.text
    return answer.json()


async def _until_sending(lab, number: int) -> None:
    """Waits until a worker is in the middle of a send, where a freeze is to hit it."""
    async with asyncio.timeout(60):
        while True:
            shown = (await lab.get("/api/lab/workers")).json()["workers"]
            if any(one["id"] == number and one["sending"] for one in shown):
                return


async def test_the_zombie_on_the_page(lab):
    """Frozen in the middle of a send, its row goes to another; thawed, its late write is refused.

    And one that is killed: its row comes back after its lease. All of it is seen in the stream.
    Takes two leases and three sends, about 9 s: shorter ones would end before a freeze hits.
    """
    await lab.put("/api/lab/channel", json={"takes_s": 200})
    async with streaming(lab) as stream:
        await stream.next()
        workers = [await _post(lab, "workers", 201) for _ in range(2)]
        by_holder = {one["holder"]: one["id"] for one in workers}
        [number] = (await _post(lab, "deliveries", 202, text="x"))["ids"]
        first = await stream.until(change="claim", delivery_id=number, attempt=1)
        zombie = by_holder.pop(first["holder"])
        await _until_sending(lab, zombie)
        assert (await _post(lab, f"workers/{zombie}/freeze"))["state"] == "frozen"
        lost = await stream.until(change="reap", delivery_id=number)
        assert (lost["attempt"], lost["holder"], lost["to_status"]) == (
            (1, first["holder"], "pending")
        )
        second = await stream.until(change="claim", delivery_id=number, attempt=2)
        [heir] = by_holder
        assert second["holder"] == heir
        assert (await _post(lab, f"workers/{zombie}/thaw"))["state"] == "running"
        refused = await stream.until(change="refuse", delivery_id=number)
        assert (refused["attempt"], refused["current_attempt"]) == (1, 2)
        assert (refused["holder"], refused["verdict"]) == (first["holder"], "refused")
        assert refused["outcome"] == "sent"
        sent = await stream.until(change="settle", delivery_id=number)
        assert (sent["attempt"], sent["to_status"], sent["holder"]) == (2, "sent", heir)
        arrived = (await lab.get("/api/page-messages")).json()["messages"]
        assert [(m["delivery_id"], m["copies"]) for m in arrived] == [(number, 2)]

        await _post(lab, f"workers/{by_holder[heir]}/kill")
        await lab.put("/api/lab/channel", json={"takes_s": 100})
        [number] = (await _post(lab, "deliveries", 202, text="y"))["ids"]
        await stream.until(change="claim", delivery_id=number, attempt=1, holder=first["holder"])
        await _until_sending(lab, zombie)
        await _post(lab, f"workers/{zombie}/kill")
        third = await _post(lab, "workers", 201)
        back = await stream.until(change="claim", delivery_id=number, attempt=2)
        assert back["holder"] == third["holder"]
        await stream.until(change="settle", delivery_id=number, to_status="sent")
    codes = {w["id"]: w["exit_code"] for w in (await lab.get("/api/lab/workers")).json()["workers"]}
    assert codes == {1: -signal.SIGKILL, 2: -signal.SIGKILL, 3: None}
    assert (await lab.delete("/api/lab/workers")).json() == {"workers": []}


@asynccontextmanager
async def _workers(settings, database, **update):
    """Workers of a lab without a server round it."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await prepare(connection)
    made = LabWorkers(settings.model_copy(update=update), database)
    try:
        yield made
    finally:
        await made.close()


async def _until(holds: Callable[[], bool]) -> None:
    """Waits for something of a process, which has no event for us."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.02)


async def _until_running(worker) -> None:
    await _until(lambda: worker.state is not State.STARTING)
    assert worker.state is State.RUNNING


async def test_what_can_be_done_when(lab_settings, database):
    """Each state allows some of it; the rest is refused, and no stranger can be signalled."""
    async with _workers(lab_settings, database) as lab:
        worker = await lab.start()
        with pytest.raises(WrongStateError, match="lab-1 is starting"):
            lab.freeze(1)
        await _until_running(worker)
        with pytest.raises(WrongStateError):
            lab.thaw(1)
        lab.freeze_sending(1)
        assert (worker.freezing, worker.state) == (True, State.RUNNING)
        lab.freeze(1)
        assert not worker.freezing
        process = psutil.Process(worker.process.pid)
        await _until(lambda: process.status() == psutil.STATUS_STOPPED)
        for impossible in (lab.freeze, lab.freeze_sending, lab.stop):
            with pytest.raises(WrongStateError, match="lab-1 is frozen"):
                impossible(1)
        lab.thaw(1)
        lab.stop(1)
        await worker.watch
        assert (worker.state, worker.exit_code) == (State.ENDED, 0)
        for impossible in (lab.freeze, lab.thaw, lab.kill, lab.stop):
            with pytest.raises(WrongStateError, match="lab-1 is ended"):
                impossible(1)
        for stranger in (2, process.pid, 1 << 40):
            with pytest.raises(UnknownWorkerError):
                lab.kill(stranger)


async def test_a_drain_delivers_what_is_due_and_ends(lab_settings, database):
    """No worker is there before it or after it."""
    async with (
        _workers(lab_settings, database) as lab,
        await psycopg.AsyncConnection.connect(database, autocommit=True) as connection,
    ):
        payload = {"text": "x", "takes_s": 0}
        await enqueue(connection, [NewDelivery(CHANNEL, CHANNEL, payload)] * 7)
        worker = await lab.start(Kind.DRAIN)
        await worker.watch
        rows = await connection.execute(f"select status, holder from {TABLE}")
        assert await rows.fetchall() == [("sent", None)] * 7
    assert (worker.name, worker.state, worker.exit_code) == ("job-1", State.ENDED, 0)


async def test_so_many_for_so_long(lab_settings, database):
    """One more than may is refused; when its time is over, or the lab ends, a worker is killed."""
    async with _workers(lab_settings, database, lab_workers=2) as lab:
        workers = [await lab.start() for _ in range(2)]
        with pytest.raises(TooManyWorkersError):
            await lab.start()
    assert lab.everyone() == []
    assert [one.exit_code for one in workers] == [-signal.SIGKILL] * 2
    with pytest.raises(TooManyWorkersError):
        await lab.start()
    async with _workers(lab_settings, database, lab_workers=1, lab_worker_s=0.01) as lab:
        for name in ("lab-1", "lab-2"):
            worker = await lab.start()
            await worker.watch
            assert (worker.name, worker.exit_code) == (name, -signal.SIGKILL)


async def test_what_a_page_started_ends_soon_after_the_page(lab_settings, database):
    """And what was started when nobody watched does not."""
    settings = lab_settings.model_copy(update={"lab_linger_s": 0.0})
    async with listening(create_app(settings, database)) as client:
        client.headers.update(OWN_PAGE)
        await _post(client, "workers", 201)
        async with streaming(client) as stream:
            await stream.next()
            await _post(client, "workers", 201)
        async with asyncio.timeout(60):
            while True:
                shown = (await client.get("/api/lab/workers")).json()["workers"]
                if shown[1]["state"] == State.ENDED:
                    break
        assert shown[1]["exit_code"] == -signal.SIGKILL
        assert shown[0]["state"] != State.ENDED


async def test_who_comes_back_in_time_finds_all_as_it_was(lab_settings, database):
    """A page that is loaded anew leaves for a moment only."""
    async with _workers(lab_settings, database, lab_linger_s=0.0) as lab:
        lab.watched(1)
        worker = await lab.start()
        lab.watched(0)
        lab.watched(1)
        await _until_running(worker)
        lab.watched(0)
        await worker.watch
    assert worker.exit_code == -signal.SIGKILL


@contextmanager
def _serving(database, folder) -> Iterator[tuple[Program, httpx.Client, list[psutil.Process]]]:
    """A server as a process with a lab worker that runs and one that is frozen, in this order."""
    program = Program(
        *("serve", "--no-worker", "--port", "0", "--site", str(folder)), DATABASE_URL=database
    )
    processes = []
    try:
        url = program.until("ready")["url"]
        with httpx.Client(base_url=url, headers={"Origin": url}, timeout=60) as client:
            for _ in range(2):
                shown = client.post("/api/lab/workers").json()
                processes.append(psutil.Process(shown["pid"]))
            for _ in range(2):
                program.until("start")
            while client.post(f"/api/lab/workers/{shown['id']}/freeze").status_code == 409:
                pass  # it says so in its log a moment before the lab hears of it
            while processes[1].status() != psutil.STATUS_STOPPED:
                pass
            yield program, client, processes
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        program.close()


def test_nobody_outlives_a_server_that_is_killed(database, tmp_path):
    """Neither a worker that runs nor one that is frozen, which can notice nothing."""
    with _serving(database, tmp_path) as (program, _, processes):
        program.process.kill()
        await_end(*processes)


def test_the_end_of_the_server_is_theirs(database, tmp_path):
    """Ctrl-C ends them, frozen ones too, and the server does not wait for a stream."""
    with _serving(database, tmp_path) as (program, client, processes):
        with client.stream("GET", "/api/queue/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            program.signal(signal.SIGINT)
            list(lines)
        assert program.ended() == 0
        await_end(*processes)


@asynccontextmanager
async def _turn(settings, database):
    policy = scaled(settings)
    async with open_pool(database) as pool:
        async with pool.connection() as connection:
            await prepare(connection)
        channel = LabChannel(pool.connection, policy, scale=settings.lab_time_scale)
        yield Turn(pool.connection, {CHANNEL: channel}, policy, holder="lab", chance=lambda: 0.0)


HOW = {
    "well": (Behaviour(takes_s=0), {}, ["sent"]),
    "fails-twice": (Behaviour(takes_s=0, fails=2), {}, ["pending", "pending", "sent"]),
    "fails-by-itself": (Behaviour(takes_s=0), {"fails": 1}, ["pending", "sent"]),
    "spared": (Behaviour(takes_s=0, fails=9), {"fails": 0}, ["sent"]),
    "poisonous": (Behaviour(takes_s=0, fails=9), {}, ["pending"] * 4 + ["dead"]),
    "refuses": (Behaviour(takes_s=0, refuses=True), {}, ["failed"]),
    "refused-by-itself": (Behaviour(takes_s=0), {"refuses": True}, ["failed"]),
    "down": (Behaviour(takes_s=0, down=True), {}, ["pending"]),
    "too-slow": (Behaviour(takes_s=0), {"takes_s": 3600}, ["pending"]),
}


@pytest.mark.parametrize("how", HOW)
async def test_how_its_channel_behaves(settings, database, connection, how):
    """As the database says, or as the delivery says of itself."""
    behaviour, payload, ends = HOW[how]
    settings = settings.model_copy(update={"lab_time_scale": 0.005})
    found = []
    async with _turn(settings, database) as turn:
        await set_behaviour(connection, behaviour)
        [number] = await enqueue(connection, [NewDelivery(CHANNEL, "lab", {"text": "x"} | payload)])
        for _ in ends:
            await connection.execute(
                f"update {TABLE} set next_attempt_at = now() where status = 'pending'".encode()
            )
            await turn.take(asyncio.Event())
            cursor = await connection.execute(
                f"select status from {TABLE} where id = %s".encode(), (number,)
            )
            found += await cursor.fetchone()
    assert found == ends


async def test_over_http(lab):
    """What it works by, how its channel behaves, and what is refused."""
    figures = (await lab.get("/api/lab")).json()
    assert (figures["policy"]["lease_s"], figures["policy"]["time_scale"]) == (300, SCALE)
    assert (figures["workers"], figures["worker_s"]) == (4, 900)
    default = {"down": False, "refuses": False, "fails": 0, "takes_s": 50}
    assert (await lab.get("/api/lab/channel")).json() == default
    wanted = default | {"fails": 3}
    assert (await lab.put("/api/lab/channel", json={"fails": 3})).json() == wanted
    assert (await lab.get("/api/lab/channel")).json() == wanted
    for bad in ({"fails": -1}, {"takes_s": "x"}, {"takes_s": 1e9}, {"down": 1}, {"no": 1}):
        assert (await lab.put("/api/lab/channel", json=bad)).status_code == 422, bad
    assert len((await _post(lab, "deliveries", 202, text="x", count=3))["ids"]) == 3
    await _post(lab, "deliveries", 422, count=1001)
    for verb in ("freeze", "thaw", "kill", "stop"):
        await _post(lab, f"workers/7/{verb}", 404)
    assert (await lab.get("/api/lab/workers")).json() == {"workers": []}


async def test_only_in_lab_mode_and_only_for_the_page(lab, settings, database):
    """Elsewhere it is not there, whoever asks; here it wants what every change wants."""
    operations = [
        ("GET", ""),
        ("GET", "/workers"),
        ("POST", "/workers"),
        ("DELETE", "/workers"),
        ("POST", "/workers/1/kill"),
        ("GET", "/channel"),
        ("PUT", "/channel"),
        ("POST", "/deliveries"),
    ]
    token = {"Authorization": "Bearer s3cret"}
    off = settings.model_copy(update={"lab": "off"})
    async with listening(create_app(off, database)) as elsewhere:
        for method, path in operations:
            answer = await elsewhere.request(method, f"/api/lab{path}", headers=token)
            assert (answer.status_code, answer.json()["detail"]) == (
                (404, "There is no lab here: lab mode is off.")
            ), path
    del lab.headers["Sec-Fetch-Site"]
    for method, path in operations:
        assert (await lab.request(method, f"/api/lab{path}")).status_code == 401, path
        foreign = {"Sec-Fetch-Site": "cross-site"}
        answer = await lab.request(method, f"/api/lab{path}", headers=foreign)
        assert answer.status_code == 401, path
    assert (await lab.get("/api/lab/workers", headers=token)).status_code == 200
