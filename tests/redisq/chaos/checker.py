"""What must hold after a chaos run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from server.redisq import Job
from tests.redisq.chaos.run import Note, Seen

GIVEN_BACK = {"released", "unheard"}


def check(seen: Seen) -> list[str]:
    """Return what was broken, each in a line; nothing if every promise was kept."""
    found = [f"{id_} is {fault} in an audit" for id_, fault in seen.unsound.items()]
    if seen.unended:
        found.append(f"{seen.unended} jobs have not ended")
    found += [f"{id_} was confirmed and is gone" for id_ in seen.confirmed - seen.jobs.keys()]
    books = Books()
    found += books.read(seen.notes)
    for job in seen.jobs.values():
        found += books.compare(job)
    done = sum(job.state == "done" for job in seen.jobs.values())
    if seen.total_done != done:
        found.append(f"{done} jobs are done, and {seen.total_done} were counted")
    return found


class Books:
    """What the workers' notes say: runs, the highest token of each job, what was accepted."""

    def __init__(self) -> None:
        self.runs = Counter[str]()
        self.accepted = Counter[str]()
        self.highest = defaultdict[str, int](int)

    def read(self, notes: list[Note]) -> Iterator[str]:
        """Take the notes in their order, and give what cannot be."""
        for note in notes:
            id_, token = note["id"], note["token"]
            if note["what"] == "run":
                self.runs[id_] += 1
                if token <= self.highest[id_]:
                    yield f"{id_} ran under the token {token} after {self.highest[id_]}"
                self.highest[id_] = max(self.highest[id_], token)
            elif note["verdict"] == "ok":
                if token != self.highest[id_]:
                    yield f"{id_}: accepted under {token}, though {self.highest[id_]} had begun"
                self.accepted[id_] += note["kind"] == "done"

    def compare(self, job: Job) -> Iterator[str]:
        """Give what does not fit to how a job ended."""
        given_back = sum(what in GIVEN_BACK for _, what, _ in job.log)
        most = 1 + job.attempts + job.lost + given_back
        if self.runs[job.id] > most:
            yield f"{job.id} ran {self.runs[job.id]} times, {most} are accounted for"
        if job.state not in {"done", "dead"}:
            yield f"{job.id} ended as {job.state}"
        if job.state == "dead" and not job.reason:
            yield f"{job.id} is dead for no reason"
        if self.accepted[job.id] > 1:
            yield f"{job.id} was done {self.accepted[job.id]} times"
