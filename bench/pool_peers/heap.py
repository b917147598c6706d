"""The JavaScript heaps of a page and of its one worker, after a forced collection."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.pool_peers.snapshot import Sizes, sizes

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass(frozen=True)
class Heaps:
    """Bytes of JavaScript objects and buffers on both sides, and listeners in the page."""

    page: int
    worker: int
    listeners: int


class HeapReader:
    """Reads heaps through the DevTools protocol; to be made before the worker is started."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._ids = itertools.count(1)
        self._workers: list[str] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._chunks: list[str] = []
        self._session.on("Target.attachedToTarget", self._attached)
        self._session.on("Target.receivedMessageFromTarget", self._received)
        self._session.on("HeapProfiler.addHeapSnapshotChunk", self._chunk)
        # Playwright can't speak to a nested session, so messages for the worker are wrapped.
        self._session.send(
            "Target.setAutoAttach",
            {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False},
        )

    def read(self) -> Heaps:
        """Collect garbage on both sides and give what is left."""
        self._collect()
        return Heaps(
            page=_bytes(self._session.send("Runtime.getHeapUsage")),
            worker=_bytes(self._ask_worker("Runtime.getHeapUsage")),
            listeners=self._session.send("Memory.getDOMCounters")["jsEventListeners"],
        )

    def snapshots(self) -> dict[str, Sizes]:
        """Collect garbage on both sides and give what is left on each, by what it is."""
        self._collect()
        self._session.send("HeapProfiler.takeHeapSnapshot")
        page = self._taken()
        self._ask_worker("HeapProfiler.takeHeapSnapshot")
        return {"page": page, "worker": self._taken()}

    def _collect(self) -> None:
        # A second time, because what the first one finalises lets go of more.
        for _ in range(2):
            self._session.send("HeapProfiler.collectGarbage")
            self._ask_worker("HeapProfiler.collectGarbage")

    def _taken(self) -> Sizes:
        taken = sizes("".join(self._chunks))
        self._chunks.clear()
        return taken

    def _ask_worker(self, method: str) -> dict[str, Any]:
        [worker] = self._workers
        number = next(self._ids)
        message = json.dumps({"id": number, "method": method})
        self._session.send("Target.sendMessageToTarget", {"sessionId": worker, "message": message})
        while number not in self._answers:
            self._page.evaluate("0")  # Playwright hands out events while it waits for something.
        result: dict[str, Any] = self._answers.pop(number)["result"]
        return result

    def _attached(self, event: dict[str, Any]) -> None:
        self._workers.append(event["sessionId"])

    def _received(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self._answers[message["id"]] = message
        elif message["method"] == "HeapProfiler.addHeapSnapshotChunk":
            self._chunk(message["params"])

    def _chunk(self, event: dict[str, Any]) -> None:
        self._chunks.append(event["chunk"])


def _bytes(usage: dict[str, Any]) -> int:
    return int(usage["usedSize"] + usage["backingStorageSize"])
