"""The tasks as a worker of the queue runs them: the third place, mails that come once, reports."""

import asyncio
import base64
import io
from datetime import UTC, datetime

import pytest
from pypdf import PdfReader
from redis.asyncio import Redis

import handlers
from server.database import open_pool
from server.engines import JobView
from server.redisq import NewJob, Queue
from server.settings import Settings
from server.tasks import new_tasks
from server.tasks.files import KeptFiles
from server.tasks.names import NAMES
from server.tasks.report import render
from server.work import drain_until
from tests.corpus import small
from tests.redisq.servers import server
from tests.server.queues import at_work, ended, engine_of
from tests.server.receivers import Mailbox, mail_server


@pytest.fixture(scope="module")
def valkey():
    """A Valkey that the tests of this file share."""
    with server("valkey") as made:
        yield made


@pytest.fixture(params=["redisq"])
async def settings(request, valkey, tmp_path):
    """Settings for our queue on an empty server, unless a test names another engine."""
    url = f"unix://{valkey.socket}"
    async with Redis.from_url(url) as client:
        await client.flushall()
    return Settings(REDIS_URL=url, queue_engine=request.param, data_dir=tmp_path)


@pytest.fixture
async def run(settings):
    """Enqueues a job and gives it once it has ended, with a worker at work for all of the test."""
    async with engine_of(settings) as engine, at_work(settings, new_tasks(settings, engine, None)):

        async def run_one(task, payload=None, **how) -> JobView:
            return await ended(
                engine, await engine.enqueue(NewJob(task=task, payload=payload, **how))
            )

        yield run_one


def _told(result):
    return {key: value for key, value in result.items() if key not in {"stages", "runtime"}}


@pytest.mark.parametrize("settings", ["redisq", "bullmq"], indirect=True)
async def test_the_third_place_counts_the_same(run, settings):
    """A picture that a job refers to gives what the page's function gives here, bit for bit."""
    files = KeptFiles.of(settings)
    for name, sample in small().items():
        kept = files.put(sample.data, "picture")
        job = await run("histogram", {"image": {"file": kept}, "colours": 4})
        assert job.state == "done", (name, job.error)
        here = handlers.run("histogram", {"image": sample.data, "colours": 4})
        assert _told(job.result) == _told(here), name
        assert job.progress == 1


async def test_bytes_that_a_task_gives_are_kept_as_a_file(run, settings):
    """The result names it, and holds what the page's function gives."""
    data = small()["alpha.png"].data
    job = await run("resize_image", {"image": {"base64": base64.b64encode(data).decode()}})
    named = job.result.pop("image")
    here = handlers.run("resize_image", {"image": data})
    assert KeptFiles.of(settings).get(named["file"]) == here.pop("image")
    assert job.result == here
    assert named["media_type"] == "image/png"
    assert named["bytes"] == len(KeptFiles.of(settings).get(named["file"]))


@pytest.mark.parametrize(
    ("task", "payload", "why"),
    [
        ("histogram", {"image": {"base64": base64.b64encode(b"%PDF-").decode()}}, "not-an-image"),
        ("histogram", {"image": {"base64": "!"}}, "no base64"),
        ("histogram", {"image": {"file": "../etc/passwd"}}, "not the name of a file"),
        ("histogram", {"image": {"file": "0" * 64 + ".picture"}}, "not kept here any longer"),
        ("histogram", {"image": {"file": "x", "base64": "eA=="}}, "bad-payload"),
        ("square", {"x": "7"}, "bad-payload"),
        ("square", [7], "is an object, not list"),
    ],
    ids=str,
)
async def test_bad_input_is_not_tried_again(run, task, payload, why):
    """The job is dead at once, with the handler's own code."""
    job = await run(task, payload)
    assert (job.state, job.reason, job.attempts) == ("dead", "refused", 1)
    assert why in job.error


async def test_without_a_database_there_is_no_mail(settings):
    """Such a job waits for a worker that has one; all others are known everywhere."""
    async with engine_of(settings) as engine:
        assert sorted({*new_tasks(settings, engine, None), "welcome_email"}) == list(NAMES)


async def test_one_mail_however_often_the_job_runs(settings, database):
    """It is a delivery of the outbox, once for each job, and arrives through a real server."""
    mailbox = Mailbox()
    async with mail_server(mailbox) as port:
        mailing = settings.model_copy(
            update={
                "database_url": database,
                "email_host": "127.0.0.1",
                "email_port": port,
                "email_tls": "none",
                "email_sender": "Workers <workers@example.org>",
            }
        )
        async with (
            open_pool(database) as pool,
            engine_of(mailing) as engine,
            at_work(mailing, new_tasks(mailing, engine, pool.connection)),
            Redis.from_url(mailing.redis_url) as client,
        ):
            wanted = {"to": "ada@example.org", "name": "Ada\nLovelace"}
            job = await ended(
                engine, await engine.enqueue(NewJob(task="welcome_email", payload=wanted))
            )
            assert job.state == "done", job.error
            queue = Queue(client, mailing.queue_name)
            assert await queue.operate("retry", [job.id]) == {job.id: "ok"}
            again = await ended(engine, job.id)
            assert again.result == job.result
            other = await ended(
                engine, await engine.enqueue(NewJob(task="welcome_email", payload=wanted))
            )
            assert other.result != job.result
            bad = await ended(
                engine, await engine.enqueue(NewJob(task="welcome_email", payload={"to": "ada"}))
            )
            none = {"to": "nobody", "name": "N"}
            nowhere = await ended(
                engine, await engine.enqueue(NewJob(task="welcome_email", payload=none))
            )
        report = await drain_until(mailing, database, asyncio.Event(), max_s=None)
    assert report.done.sent == 2
    assert len(mailbox.mails) == 2
    assert mailbox.mails[0].rcpt_tos == ["ada@example.org"]
    assert b"Subject: Welcome, Ada Lovelace\r\n" in mailbox.mails[0].content
    assert {bad.reason, nowhere.reason} == {"refused"}
    assert "no address" in nowhere.error


async def test_the_report_is_a_pdf_that_can_be_read(run, settings):
    """By another library; it names what has ended, and is kept as a file."""
    await run("square", {"x": 7})
    await run("square", {"x": "seven"})
    job = await run("report_pdf")
    assert job.state == "done", job.error
    data = KeptFiles.of(settings).get(job.result["file"])
    text = PdfReader(io.BytesIO(data)).pages[0].extract_text()
    assert "done: 1" in text
    assert "dead: 1" in text
    assert text.count("square") == 2
    assert "refused: " in text
    assert (job.result["media_type"], job.result["bytes"]) == ("application/pdf", len(data))


def test_a_report_holds_a_day_and_depends_on_nothing_else():
    """What ended before is left out, letters that its fonts lack do no harm, pages follow."""
    now = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
    ms = now.timestamp() * 1000

    def ended_before(hours, task, error=None) -> JobView:
        at = round(ms - hours * 3_600_000)
        return JobView(
            id="1",
            task=task,
            state="dead" if error else "done",
            payload=None,
            attempts=0,
            max_attempts=5,
            progress=None,
            result=None,
            error=error,
            reason="refused" if error else None,
            queued_ms=at - 10,
            claimed_ms=at - 5,
            ended_ms=at,
        )

    jobs = [
        ended_before(25, "yesterday"),
        ended_before(1, "today", "Traceback\n“so” 🐝\x07"),
        *[ended_before(2, f"many-{number}") for number in range(80)],
    ]
    data = render({"ready": 3, "done": 81}, jobs, now)
    assert data == render({"ready": 3, "done": 81}, jobs, now)
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    assert len(pages) == 2
    text = "\n".join(pages)
    assert "yesterday" not in text
    assert text.index("today") < text.index("many-0") < text.index("many-79")
    assert "2026-05-03 12:00 to 2026-05-04 12:00 UTC" in text
    assert "5 ms" in text
