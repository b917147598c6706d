"""Jobs for tests of the dashboard, and a short way to read its pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from bs4 import BeautifulSoup, Tag

from server.redisq import NewJob, Queue
from server.redisq.model import Claim
from server.redisq.scripts import script
from server.settings import Settings
from tests.redisq.hand import Hand, ended
from tests.redisq.servers import Server

TOKEN = "s3cret"  # noqa: S105 - only the tests have it
ADMIN = {"Authorization": f"Bearer {TOKEN}"}
HERE = {"Sec-Fetch-Site": "same-origin"}
SECRET = "<script>alert('payload')</script>"  # noqa: S105 - what only an operator sees


def settings_with(base: Settings, valkey: Server, folder: Path, **changes: Any) -> Settings:
    """The same settings with a queue of jobs."""
    url = f"unix://{valkey.socket}"
    return base.model_copy(update={"redis_url": url, "data_dir": folder, **changes})


async def beat(worker: Hand, *held: Claim, tasks: Sequence[str] = ("mail",)) -> None:
    """Say that this worker lives, as a real one says it."""
    about = json.dumps({"tasks": list(tasks), "lease_ms": 600_000, "since_turn_ms": 40,
                        "turn_ms": 2.5})  # fmt: skip
    values = [worker.name, worker.seq, 0, 600_000, about, len(tasks), *tasks]
    for claim in held:
        values += (claim.id, claim.token)
    await script("heartbeat").run(worker.client, worker.base, values)


async def fill(queue: Queue) -> dict[str, str]:
    """A job in each state, by its state; the one that runs is held by a worker that lives."""
    worker = Hand(queue)
    names = ("done", "dead", "active")
    await queue.enqueue_many(
        [NewJob(task="mail", payload={"text": SECRET}, id=f"job-{name}") for name in names]
    )
    done, dead, active = (await worker.turn()).claims
    await worker.turn(
        ended(done, "done", text=b'{"sent": true}'),
        ended(dead, "dead", text=b"ValueError: <b>no</b> such address"),
        want=0,
    )
    await beat(worker, active)
    await queue.enqueue("mail", {"text": SECRET}, id="job-ready")
    await queue.enqueue("fax", {"text": SECRET}, id="job-scheduled", delay_s=3600)
    return {name: f"job-{name}" for name in (*names, "ready", "scheduled")}


class Page:
    """A page of the dashboard, read."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.soup = BeautifulSoup(response.text, "html.parser")
        self.text = " ".join((self.soup.find("main") or self.soup).get_text(" ").split())

    @property
    def language(self) -> str:
        """Of the whole page."""
        root = self.soup.find("html")
        assert isinstance(root, Tag)
        return str(root["lang"])

    @property
    def forms(self) -> dict[str, Tag]:
        """The forms that change something, by where they lead."""
        found = self.soup.find_all("form", attrs={"method": "post"})
        return {str(form["action"]): form for form in found}

    def links(self) -> set[str]:
        """Where its links lead."""
        return {str(link["href"]) for link in self.soup.find_all("a")}


async def get(client: httpx.AsyncClient, path: str, **headers: str) -> Page:
    """The page at a path."""
    return Page(await client.get(path, headers=headers))


async def press(
    client: httpx.AsyncClient, page: Page, action: str, *, headers: dict[str, str], **values: str
) -> Page:
    """The page to which that form of a page leads, as a browser without JavaScript sends it."""
    form = page.forms[action]
    fields = {str(one["name"]): str(one.get("value", "")) for one in form.find_all("input")}
    answer = await client.post(action, data=fields | values, headers=headers)
    assert answer.status_code == 303, answer.text
    return Page(await client.get(answer.headers["location"], headers=headers))
