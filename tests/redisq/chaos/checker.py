"""What must hold after a chaos run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.redisq.chaos.record import End, Note, Seen, Window


def check(seen: Seen) -> list[str]:
    """Return what was broken, each in a line; nothing if every promise was kept."""
    found = [f"{id_} is {fault} in an audit" for id_, fault in seen.unsound.items()]
    if seen.unended:
        found.append(f"{seen.unended} jobs have not ended")
    gone = seen.confirmed.keys() - seen.jobs.keys() - set(seen.forgotten())
    found += [f"{id_} was confirmed and is gone" for id_ in gone]
    books = Books(seen.windows)
    found += books.read(seen.notes)
    for id_, end in seen.jobs.items():
        found += books.compare(id_, end)
    done = sum(end.state == "done" for end in seen.jobs.values())
    if seen.total_done != done:
        found.append(f"{done} jobs are done, and {seen.total_done} were counted")
    return found


class Books:
    """What the workers' notes say: runs, the highest token of each job, what was accepted.

    A token says when its claim was made, in microseconds since 1970. What the server may have
    forgotten, by the windows, it need not account for.
    """

    def __init__(self, windows: list[Window]) -> None:
        self.runs = Counter[str]()
        self.accepted = Counter[str]()
        self.highest = defaultdict[str, int](int)
        self._windows = windows

    def read(self, notes: list[Note]) -> Iterator[str]:
        """Take the notes in their order, and give what cannot be."""
        for note in notes:
            id_, token = note["id"], note["token"]
            if note["what"] == "run":
                self.runs[id_] += not self._forgotten(token)
                if token <= self.highest[id_]:
                    yield f"{id_} ran under the token {token} after {self.highest[id_]}"
                self.highest[id_] = max(self.highest[id_], token)
            elif note["what"] == "verdict" and (note["verdict"], note["kind"]) == ("ok", "done"):
                # Of other kinds the note may come late: the job may have begun again by then.
                highest = self.highest[id_]
                if self._forgotten(token, note["at"]):
                    continue
                self.accepted[id_] += 1
                if token != highest and not self._forgotten(highest):
                    yield f"{id_}: accepted under {token}, though {highest} had begun"

    def compare(self, id_: str, end: End) -> Iterator[str]:
        """Give what does not fit to how a job ended."""
        most = 1 + end.attempts + end.lost + end.given_back
        if self.runs[id_] > most:
            yield f"{id_} ran {self.runs[id_]} times, {most} are accounted for"
        if end.state not in {"done", "dead"}:
            yield f"{id_} ended as {end.state}"
        if end.state == "dead" and not end.reason:
            yield f"{id_} is dead for no reason"
        if self.accepted[id_] > 1:
            yield f"{id_} was done {self.accepted[id_]} times"

    def _forgotten(self, token: int, until: float | None = None) -> bool:
        """Whether what was written between that claim and then may be unknown to the server."""
        at = token / 1e6
        return any(window.meets(at, at if until is None else until) for window in self._windows)
