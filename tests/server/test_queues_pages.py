"""The dashboard: what its pages say, who may press what, and what a form does."""

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from redis.asyncio import Redis

import server.dashboard
from server.app import create_app
from server.dashboard.visitor import COOKIE, signed
from server.dashboard.words import LANGUAGES, texts
from server.outbox import Settlement, Status, pause_channel, settle
from server.redisq import NewJob, Queue
from tests.redisq.hand import Hand, ended, places
from tests.redisq.servers import server as valkey_server
from tests.server.conftest import NOWHERE, listening
from tests.server.queue_pages import (
    ADMIN,
    HERE,
    SECRET,
    TOKEN,
    Page,
    beat,
    fill,
    get,
    press,
    settings_with,
)

ROOT = Path(server.dashboard.__file__).parent
BASE = "/queues/redis/default"
PAGES = (
    "/queues",
    BASE,
    f"{BASE}/stuck",
    *(f"{BASE}/jobs/{state}" for state in ("ready", "scheduled", "active", "done", "dead")),
    *(f"{BASE}/job/job-{state}" for state in ("ready", "scheduled", "active", "done", "dead")),
    "/queues/outbox",
    "/queues/outbox?status=dead",
    "/queues/outbox/1",
    "/queues/enter",
    "/queues/nowhere",
)


@pytest.fixture(scope="module")
def valkey():
    """A server for the queue of jobs."""
    with valkey_server("valkey") as made:
        yield made


@pytest.fixture(scope="module")
def settings(settings, valkey, tmp_path_factory):
    """Of a server that is not in lab mode: who wants more than a look needs the token."""
    return settings_with(settings, valkey, tmp_path_factory.mktemp("data"), lab="off")


@pytest.fixture
async def queue(valkey):
    """The server's queue, empty, and with nothing wrong in it afterwards."""
    async with Redis(unix_socket_path=valkey.socket) as client:
        await client.flushall()
        yield Queue(client, "default")


@pytest.fixture
async def delivery(connection, rows):
    """A dead delivery and one that waits, in a database without others."""
    await rows.add(connection, 2)
    [first] = await rows.take(connection, 1)
    await settle(connection, [Settlement(first.id, 1, Status.DEAD, "no <such> mailbox")])
    return first.id


@pytest.fixture
def place(emptied):
    """One database for the file, emptied."""
    return emptied


async def test_every_page_in_both_languages(client, queue, delivery):
    """Each says everything in its own, leads to the same page in the other, and escapes."""
    await fill(queue)
    assert delivery
    for path in PAGES:
        for language, prefix in (("de", ""), ("en", "/en")):
            page = await get(client, prefix + path, **ADMIN)
            assert page.status == (404 if path.endswith("nowhere") else 200), path
            assert page.language == language
            other = ("/en" if language == "de" else "") + path
            assert page.soup.find(id="language-switch")["href"] == other
            assert page.soup.find("h1").get_text(strip=True)
            assert SECRET not in page.response.text
            assert "<b>no</b>" not in page.response.text
            assert page.response.headers["cache-control"] == "no-store"
            inner = {link for link in page.links() if link.startswith(("/queues", "/en/queues"))}
            assert inner, path
            for link in inner - {other}:
                assert link.startswith("/en/") == (language == "en"), (path, link)


async def test_pages_need_nothing_that_the_policy_forbids(client, queue):
    """No script and no style in the markup, no handler, and a policy that says so."""
    await fill(queue)

    class Inline(HTMLParser):
        found: list[str] = []  # noqa: RUF012 - of this test

        def handle_starttag(self, tag, attrs):
            names = {name for name, _ in attrs}
            bad = tag == "style" or "style" in names or (tag == "script" and "src" not in names)
            if bad or any(name.startswith("on") for name in names):
                self.found.append(self.get_starttag_text())

    for path in PAGES:
        response = await client.get(path, headers=ADMIN)
        Inline().feed(response.text)
        policy = response.headers["content-security-policy"]
        assert "unsafe-inline" not in policy
        assert "form-action 'self'" in policy
    assert Inline.found == []


async def test_counts_lead_to_their_lists(client, queue):
    """The figures of the overview are those of the queue, and each is a link."""
    await fill(queue)
    page = await get(client, "/queues")
    for state in ("ready", "scheduled", "active", "done", "dead"):
        [link] = [
            link
            for link in page.soup.find_all("a")
            if link["href"] == f"{BASE}/jobs/{state}" and link.find_parent("dd")
        ]
        assert link.get_text(strip=True) == "1"
        told = await get(client, link["href"])
        assert f"job-{state}" in told.text


async def test_without_the_token_one_only_looks(client, queue, delivery):
    """No button, no payload, no error, no recipient; whatever is sent all the same is refused."""
    await fill(queue)
    before = await places(queue)
    for path in PAGES:
        page = await get(client, path)
        if path != "/queues/enter":
            assert page.forms == {}, path
        for hidden in ("alert(", "such address", "mailbox"):
            assert hidden not in page.response.text, path
    posts = {
        f"{BASE}/do/pause": {},
        f"{BASE}/limits": {"concurrency": "1"},
        f"{BASE}/job/job-dead/retry": {},
        f"{BASE}/jobs/dead/delete": {},
        f"/queues/outbox/{delivery}/retry": {},
        "/queues/outbox/retry": {"status": "dead"},
        "/queues/outbox/channels/pause": {"channel": "page"},
    }
    for path, fields in posts.items():
        for prefix in ("", "/en"):
            answer = Page(await client.post(prefix + path, data=fields, headers=HERE))
            assert answer.status == 401, path
            assert answer.language == ("en" if prefix else "de")
    assert await places(queue) == before
    assert not (await queue.depth()).paused


async def test_a_form_lets_the_token_in(client, queue):
    """For a cookie that no script reads and no other site sends; and out again."""
    await fill(queue)
    wrong = await client.post("/queues/enter", data={"token": "guess"}, headers=HERE)
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (403, False)
    right = await client.post("/queues/enter", data={"token": TOKEN}, headers=HERE)
    assert right.status_code == 303
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    page = await get(client, f"{BASE}/job/job-dead")
    assert "such address" in page.text
    after = await press(client, page, f"{BASE}/job/job-dead/retry", headers=HERE)
    assert "Noch einmal: erledigt." in after.text
    assert (await queue.get("job-dead")).state == "ready"
    await client.post("/queues/leave", headers=HERE)
    assert (await get(client, f"{BASE}/job/job-dead")).forms == {}


async def test_a_cookie_is_believed_only_from_our_own_form(client, queue):
    """It comes along with what another page sends, and then it does not count."""
    await fill(queue)
    answer = await client.post("/queues/enter", data={"token": TOKEN}, headers=HERE)
    assert answer.status_code == 303
    host = client.base_url.netloc.decode()
    for headers, status in (
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
        ({"Origin": f"http://{host}"}, 303),
    ):
        sent = await client.post(f"{BASE}/do/pause", data={}, headers=headers)
        assert sent.status_code == status, headers
        assert (await queue.depth()).paused == (status == 303)
    sent = await client.post(f"{BASE}/do/resume", content=b"back=x", headers=HERE)
    assert sent.status_code == 422
    assert (await queue.depth()).paused
    stolen = await client.post(
        "/queues/enter", data={"token": TOKEN}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert stolen.status_code == 403


@pytest.mark.parametrize("value", ["", "x", "1.2", "99999999999.", "99999999999.0", "1" * 400])
async def test_cookies_of_ones_own_making_do_not_count(client, queue, value):
    """Nor does one that has run out."""
    await fill(queue)
    headers = {"Cookie": f"{COOKIE}={value}"}
    assert (await get(client, BASE, **headers)).forms == {}
    answer = await client.post(f"{BASE}/do/pause", headers=headers | HERE)
    assert answer.status_code == 401


async def test_a_cookie_runs_out(client, queue):
    """By the server's clock; and it is worth nothing once the token has changed."""
    await fill(queue)
    for seconds, token, forms in ((3600, TOKEN, True), (-1, TOKEN, False), (3600, "old", False)):
        headers = {"Cookie": f"{COOKIE}={signed(token, str(int(time.time()) + seconds))}"}
        assert bool((await get(client, BASE, **headers)).forms) == forms


async def test_in_lab_mode_who_sits_here_needs_no_token(settings, queue, database):
    """Unless the name is not this machine's, or the form is from elsewhere."""
    await fill(queue)
    lab = settings.model_copy(update={"lab": "auto", "admin_token": None})
    async with listening(create_app(lab, database)) as client:
        page = await get(client, f"{BASE}/job/job-dead")
        assert "such address" in page.text
        foreign = {"Host": "elsewhere.example"}
        assert (await get(client, f"{BASE}/job/job-dead", **foreign)).forms == {}
        fetched = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        assert (await get(client, f"{BASE}/job/job-dead", **fetched)).forms == {}
        path = f"{BASE}/job/job-dead/retry"
        for headers in ({}, {"Sec-Fetch-Site": "cross-site"}, HERE | foreign):
            assert (await client.post(path, data={}, headers=headers)).status_code == 401
        await press(client, page, path, headers=HERE)
        assert (await queue.get("job-dead")).state == "ready"


async def test_the_buttons_of_a_job(client, queue):
    """Each does what it says, and a page that is out of date is told so."""
    await fill(queue)
    told = {}
    for state, actions in {
        "scheduled": ("promote",),
        "done": ("retry",),
        "dead": ("delete",),
        "active": ("cancel",),
        "ready": ("cancel",),
    }.items():
        page = await get(client, f"/en{BASE}/job/job-{state}", **ADMIN)
        for action in actions:
            path = f"/en{BASE}/job/job-{state}/{action}"
            told[state] = (await press(client, page, path, headers=ADMIN)).text
            again = await client.post(path, data={}, headers=ADMIN)
            assert again.status_code in {303, 404}
    assert "Make due now: done." in told["scheduled"]
    assert "Run again: done." in told["done"]
    assert "Delete: done." in told["dead"]
    assert "learns of it with its next sign of life" in told["active"]
    late = await client.post(f"/en{BASE}/job/job-done/promote", data={}, headers=ADMIN)
    page = await get(client, late.headers["location"], **ADMIN)
    assert "not possible, its state is ready" in page.text
    assert await queue.get("job-dead") is None
    assert (await queue.get("job-ready")).reason == "cancelled"


async def test_a_job_tells_its_story(client, queue):
    """When it was put in, who took it, each failure with its error, and until when it is held."""
    worker = Hand(queue)
    await queue.enqueue("mail", {"to": "Zoë"}, id="a")
    for number in range(2):
        claim = await worker.claim()
        text = f"Error number {number}".encode()
        await worker.turn(ended(claim, "retry", text=text), want=0)
        await queue.promote("a")
    claim = await worker.claim(lease_ms=600_000)
    await worker.note(claim, "progress", "0.25")
    await beat(worker, claim)
    page = await get(client, f"/en{BASE}/job/a", **ADMIN)
    line = " ".join(page.soup.find(class_="time-line").get_text(" ").split())
    order = [line.index(word) for word in ("enqueued", "Error number 0", "Error number 1")]
    assert order == sorted(order)
    assert "claimed by w1" in line
    assert "2 of 5" in page.text
    assert "runs on w1, lease until" in page.text
    assert page.soup.find("progress")["value"] == "0.25"
    assert "Zoë" in page.text
    assert str(claim.token) in page.text


async def test_what_stands_still_and_the_button_that_helps(client, queue):
    """On one page, each with its own; pressed, it is gone from there."""
    await fill(queue)
    await queue.pause()
    page = await get(client, f"/en{BASE}/stuck", **ADMIN)
    rows = {row["data-why"]: row for row in page.soup.find_all("tr", attrs={"data-why": True})}
    assert set(rows) == {"paused", "due-later"}
    assert "the queue is paused" in rows["paused"].get_text(" ")
    [form] = rows["due-later"].find_all("form")
    after = await press(client, page, form["action"], headers=ADMIN)
    whys = [row["data-why"] for row in after.soup.find_all("tr", attrs={"data-why": True})]
    assert whys == ["paused", "paused"]
    [form] = {form["action"] for form in rows["paused"].find_all("form")}
    after = await press(client, after, form, headers=ADMIN)
    whys = [row["data-why"] for row in after.soup.find_all("tr", attrs={"data-why": True})]
    # The other one is a fax, and nobody can.
    assert whys == ["no-handler"]
    assert "workers queue work --queue default" in after.text


async def test_a_step_over_many_says_how_many_and_goes_on(client, queue):
    """A filter, a bound, and a button for the next step, until that was all."""
    jobs = [NewJob(task="rare" if number % 2 else "mail") for number in range(500)]
    await queue.enqueue_many(jobs)
    page = await get(client, f"/en{BASE}/jobs/ready?task=rare", **ADMIN)
    action = f"/en{BASE}/jobs/ready/cancel"
    told = []
    for _ in range(3):
        page = await press(client, page, action, headers=ADMIN)
        told.append(page.soup.find(class_="notice").get_text(" ", strip=True))
    assert "200 gone through, 100 meant, 100 moved. There are more." in told[0]
    assert "100 meant, 100 moved. There are more." in told[1]
    assert "50 meant, 50 moved. That was all." in told[2]
    depth = await queue.depth()
    assert (depth.ready, depth.dead) == (250, 250)


async def test_limits_are_set_and_lifted(client, queue):
    """Empty lifts them; what makes no sense changes nothing."""
    await fill(queue)
    page = await get(client, BASE, **ADMIN)
    wanted = {"concurrency": "3", "rate_count": "10", "rate_seconds": "60"}
    page = await press(client, page, f"{BASE}/limits", headers=ADMIN, **wanted)
    assert "1 von 3 zugleich, 10 je 60" in page.text
    for bad in ({"concurrency": "0"}, {"rate_count": "5"}, {"concurrency": "x"}):
        answer = await client.post(f"{BASE}/limits", data=bad, headers=ADMIN)
        assert answer.status_code == 422
    page = await press(client, page, f"{BASE}/do/unrate", headers=ADMIN)
    page = await press(client, page, f"{BASE}/do/unlimit", headers=ADMIN)
    assert "Grenzen keine" in page.text


async def test_the_outbox_has_its_pages(client, queue, delivery, connection):
    """Depth, lists, a delivery with its attempts, and its own retry, cancel and pause."""
    await fill(queue)
    page = await get(client, "/en/queues/outbox?status=dead", **ADMIN)
    assert page.text.count("dead") >= 2
    one = await get(client, f"/en/queues/outbox/{delivery}", **ADMIN)
    assert "no <such> mailbox" in one.text
    one = await press(client, one, f"/en/queues/outbox/{delivery}/retry", headers=ADMIN)
    assert "Run again: done." in one.text
    one = await press(client, one, f"/en/queues/outbox/{delivery}/cancel", headers=ADMIN)
    assert "cancelled" in one.text
    page = await get(client, "/en/queues/outbox?status=failed", **ADMIN)
    page = await press(client, page, "/en/queues/outbox/retry", headers=ADMIN)
    assert "Run again: 1 deliveries moved." in page.text
    await pause_channel(connection, "pigeon", reason="rain")
    page = await get(client, "/en/queues/outbox", **ADMIN)
    assert "pigeon" in page.text
    assert "rain" in page.text
    page = await press(client, page, "/en/queues/outbox/channels/resume", headers=ADMIN)
    assert "No channel is paused." in page.text
    for bad in ({"channel": ""}, {"channel": "a\0b"}, {"channel": "x" * 201}):
        answer = await client.post("/queues/outbox/channels/pause", data=bad, headers=ADMIN)
        assert answer.status_code == 422


async def test_turning_the_outbox_pages(client, queue, connection, rows, delivery):
    """By the cursor, each delivery once."""
    assert queue
    ids = await rows.add(connection, 120)
    seen, path = [], "/queues/outbox"
    while path:
        page = await get(client, path)
        seen += [int(link.get_text()) for link in page.soup.find_all("a", class_="id")]
        [*following] = page.soup.find_all("a", rel="next")
        path = following[0]["href"] if following else None
    assert sorted(seen) == sorted({*ids, delivery, delivery + 1})


async def test_addresses_that_lead_nowhere(client, queue):
    """A page that says so, in the language asked for; a cursor of nobody's is refused."""
    await fill(queue)
    for path in (
        "/queues/x",
        "/queues/redis/unknown",
        "/queues/redis/a b",
        f"{BASE}/jobs/asleep",
        f"{BASE}/job/nobody",
        f"{BASE}/job/%00",
        "/queues/outbox/4711",
        "/queues/outbox?status=asleep",
        "/queues/outbox/99999999999999999999",
        f"{BASE}/jobs/ready?cursor=x",
    ):
        page = await get(client, f"/en{path}")
        assert (page.status, page.language) == (404, "en"), path
        assert "There is nothing here." in page.text
    answer = await client.post(f"{BASE}/do/explode", headers=ADMIN)
    assert answer.status_code == 404
    for cursor in ("1.5:a", "-1:a"):
        assert (await get(client, f"{BASE}/jobs/ready?cursor={cursor}")).status == 200
    assert (await get(client, f"{BASE}/jobs/ready?cursor=1e999:a")).status == 422
    assert (await client.get("/queues/")).status_code == 404
    assert (await client.get("/queuesomething")).headers["content-type"].startswith("text/html")


async def test_servers_that_are_away(settings, queue, database, valkey, impatient):
    """Each half of the dashboard says so of itself, and shows the other half."""
    await fill(queue)
    nowhere = f"unix://{valkey.folder}/nowhere"
    async with listening(
        create_app(settings.model_copy(update={"redis_url": nowhere}), database)
    ) as client:
        page = await get(client, "/en/queues")
        assert page.status == 200
        assert "The Redis server does not answer" in page.text
        assert page.soup.find(id="outbox-card").find(class_="counts")
        assert (await get(client, f"/en{BASE}")).status == 503
        assert "It goes on by itself" in (await get(client, f"/en{BASE}")).text
    async with listening(
        create_app(settings.model_copy(update={"redis_url": None}), database)
    ) as client:
        page = await get(client, "/en/queues")
        assert "without a queue on Redis" in page.text
        assert page.soup.find(id="outbox-card").find(class_="counts")
        assert (await get(client, f"/en{BASE}")).status == 503
    async with listening(create_app(impatient, NOWHERE)) as client:
        page = await get(client, "/en/queues")
        assert page.status == 200
        assert "The database does not answer" in page.text
        assert "On Redis: default" in page.text
        assert (await get(client, "/en/queues/outbox")).status == 503


def test_words_are_complete_and_equal():
    """Both languages have every key with the same values in it, and every key is said."""
    sources = "\n".join(
        path.read_text("utf-8")
        for pattern in ("*.py", "templates/*.html")
        for path in sorted(ROOT.glob(pattern))
    )
    for key, words in texts().items():
        assert set(words) == set(LANGUAGES), key
        values = [set(re.findall(r"\{(\w+)\}", words[language])) for language in LANGUAGES]
        assert values[0] == values[1], key
        head = key.partition(".")[0]
        assert re.search(rf"""["']{re.escape(key)}["']""", sources) or re.search(
            rf'f?"{head}\.("|\{{)', sources
        ), key
    for key in re.findall(r'(?:say|rich|timed|measure)\("([\w.-]+\w)"', sources):
        assert key in texts(), key


def test_signs_are_those_of_the_page():
    """One set of signs: what the dashboard draws is what index.html draws."""
    page = (ROOT.parent.parent / "index.html").read_text("utf-8")
    drawn = re.findall(r"<symbol.*?</symbol>", (ROOT / "templates" / "signs.html").read_text())
    assert len(drawn) >= 6
    for symbol in drawn:
        assert symbol in page
