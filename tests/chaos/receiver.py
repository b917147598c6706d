"""Where the deliveries of a chaos run go: an HTTP server that records every call.

It honours the delivery's id: however often it is called for one, there is one effect. What it
answers depends on the payload's `kind`:

- `ok`: 200.
- `refuse`: 410, always.
- `flaky`: 503 at the first call, then 200.
- `slow`: takes the first call and answers too late for the sender, then 200.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

from tests.chaos.figures import SEND_TIMEOUT_S

WORK_S = 0.01
"""How long a call takes at least, so that a worker can be hit in the middle of one."""

REASONS = {200: "OK", 410: "Gone", 503: "Service Unavailable"}


@dataclass(slots=True)
class Call:
    """One call. Times are seconds since 1970; `ended` and `answer` are None until it is answered.

    `body` is the SHA-256 of what was sent, which has to be the same at every attempt. `late` is
    true if the receiver meant to answer too late.
    """

    id: int
    attempt: int
    holder: str
    body: str
    began: float
    ended: float | None = None
    answer: int | None = None
    late: bool = False


Which = Callable[[Call], bool]


@dataclass(eq=False, slots=True)
class _Hold:
    which: Which
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Receiver:
    """Records the calls in `calls` and the effects by delivery in `effects`."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.effects: Counter[int] = Counter()
        self.seen: Counter[int] = Counter()
        self.port = 0
        self._holds: list[_Hold] = []
        self._expected: list[tuple[Which, asyncio.Future[Call]]] = []
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self, listener: socket.socket | None = None) -> AsyncIterator[None]:
        """Listens on a free port of the loopback, or on this socket, until the end."""
        listener = listener or socket.create_server(("127.0.0.1", 0))
        server = await asyncio.start_server(self._connected, sock=listener, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            if self._serving:
                await asyncio.wait(self._serving)

    @contextlib.contextmanager
    def holding(self, which: Which) -> Iterator[None]:
        """Answers no call of this kind before the end."""
        hold = _Hold(which)
        self._holds.append(hold)
        try:
            yield
        finally:
            self._holds.remove(hold)
            hold.over.set()

    def next_call(self, which: Which) -> asyncio.Future[Call]:
        """The next call of this kind, from when this was asked; it may be held meanwhile."""
        expected: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
        self._expected.append((which, expected))
        return expected

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            call, kind = await self._read(reader)
            answer = await self._answer(call, kind)
            call.ended, call.answer = time.time(), answer
            head = f"HTTP/1.0 {answer} {REASONS[answer]}\r\nContent-Length: 0\r\n\r\n"
            writer.write(head.encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the caller was killed or gave up; the call stays in the record as it is
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> tuple[Call, str]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers["content-length"]))
        call = Call(
            id=int(headers["delivery-id"]),
            attempt=int(headers["delivery-attempt"]),
            holder=headers["delivery-holder"],
            body=hashlib.sha256(body).hexdigest(),
            began=time.time(),
        )
        return call, str(json.loads(body)["kind"])

    async def _answer(self, call: Call, kind: str) -> int:
        self.calls.append(call)
        self.seen[call.id] += 1
        first = self.seen[call.id] == 1
        refused = {"refuse": 410, "flaky": 503 if first else 200}.get(kind, 200)
        if refused == 200 and not self.effects[call.id]:
            self.effects[call.id] += 1
        for which, expected in list(self._expected):
            if expected.done():
                self._expected.remove((which, expected))
            elif which(call):
                expected.set_result(call)
        for hold in list(self._holds):
            if hold.which(call):
                await hold.over.wait()
        call.late = kind == "slow" and first
        await asyncio.sleep(SEND_TIMEOUT_S * 1.5 if call.late else WORK_S)
        return refused
