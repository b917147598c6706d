"""A page from which the boot's tests start runtimes."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page, Request

Message = dict[str, Any]

# As text both ways: Playwright wraps each single number of a list, and would take seconds for it.
CALL = """
async ([call, given]) => {
  const harness = await import("/harness/harness.js");
  const {shared} = window;
  const options = JSON.parse(given);
  const config = {...options.config, shared: SHARED};
  return JSON.stringify(await harness[call]({...options, config}));
}
"""

KEEP_SHARED = """
async ([assets, runtimeURL]) => {
  const harness = await import("/harness/harness.js");
  window.shared = await harness.sharedBy(assets, runtimeURL);
}
"""


@dataclass
class Session:
    """What one runtime said, in order."""

    messages: list[Message]

    def of(self, *types: str) -> list[Message]:
        """Give the messages of some types."""
        return [message for message in self.messages if message["type"] in types]

    @property
    def boot(self) -> Message:
        """The one message that ended the boot."""
        [message] = self.of("ready", "boot-failed")
        return message

    @property
    def answers(self) -> list[Message]:
        """What became of the tasks, in their order."""
        return sorted(self.of("done", "failed"), key=lambda message: message["id"])

    @property
    def results(self) -> list[Any]:
        """The results of the tasks, all of which must be done."""
        return [message["result"] for message in self.answers]


@dataclass
class BootBench:
    """A page, where its scripts are and where its runtime is.

    `shared` is the JavaScript expression of what a boot starts from; `share` puts it there.
    """

    page: Page
    origin: str
    assets: str
    runtime: str
    folder: Path
    shared: str = "undefined"
    requests: list[str] = field(default_factory=list)

    @contextmanager
    def watched(self) -> Iterator[BootBench]:
        """Note what is asked for, as long as this lasts."""

        def note(request: Request) -> None:
            self.requests.append(request.url)

        self.page.context.on("request", note)
        yield self
        self.page.context.remove_listener("request", note)

    def open(self) -> None:
        """Load the page anew."""
        self.page.goto(f"{self.origin}harness/index.html")

    def share(self) -> None:
        """Boot a worker, end it, and keep in the page what it shared."""
        where = [f"{self.origin}{self.assets}", f"{self.origin}{self.runtime}"]
        self.page.evaluate(KEEP_SHARED, where)
        self.requests.clear()

    def start(
        self, thread: str, *runs: tuple[str, Any], shared: str | None = None, **config: Any
    ) -> Session:
        """Boot on `thread` (`inWorker` or `onMain`) and run tasks: pairs of name and payload.

        `shared` is another expression than the bench's own.
        """
        tasks = [{"task": task, "payload": payload} for task, payload in runs]
        return Session(self.call(thread, {"runs": tasks}, shared=shared, **config))

    def call(
        self, function: str, options: Message, *, shared: str | None = None, **config: Any
    ) -> Any:
        """Give what a function of the harness returns."""
        where = {
            "assets": f"{self.origin}{self.assets}",
            "config": {"runtimeURL": f"{self.origin}{self.runtime}", **config},
        }
        script = CALL.replace("SHARED", shared or self.shared)
        return json.loads(self.page.evaluate(script, [function, json.dumps({**where, **options})]))


def histogram_of(encoded: bytes) -> tuple[str, Any]:
    """Give the task that counts the colours of a file."""
    return "histogram", {"image": {"base64": base64.b64encode(encoded).decode()}}
