"""A page from which the boot's tests start runtimes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

Message = dict[str, Any]

CALL = """
async ([thread, options]) => {
  const harness = await import("/harness/harness.js");
  return await harness[thread](options);
}
"""

KEEP_SHARED = """
async ([assets, runtimeURL]) => {
  const harness = await import("/harness/harness.js");
  window.shared = await harness.sharedBy(assets, runtimeURL);
}
"""

CALL_SHARED = """
async ([thread, options]) => {
  const harness = await import("/harness/harness.js");
  const {shared} = window;
  const config = {...options.config, shared: SHARED};
  return await harness[thread]({...options, config});
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
    """A page, where its scripts are and where its runtime is."""

    page: Page
    origin: str
    assets: str
    runtime: str
    folder: Path
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.context.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{self.origin}harness/index.html")

    def start(self, thread: str, *runs: tuple[str, Any], **config: Any) -> Session:
        """Boot on `thread` (`inWorker` or `onMain`) and run tasks: pairs of name and payload."""
        return Session(self.page.evaluate(CALL, [thread, self._options(runs, config)]))

    def share(self) -> None:
        """Boot a worker, end it, and keep in the page what it shared."""
        where = [f"{self.origin}{self.assets}", f"{self.origin}{self.runtime}"]
        self.page.evaluate(KEEP_SHARED, where)
        self.requests.clear()

    def start_shared(
        self, thread: str, *runs: tuple[str, Any], shared: str = "shared", **config: Any
    ) -> Session:
        """Do what `start` does, with what was shared; `shared` is an expression that changes it."""
        script = CALL_SHARED.replace("SHARED", shared)
        return Session(self.page.evaluate(script, [thread, self._options(runs, config)]))

    def _options(self, runs: tuple[tuple[str, Any], ...], config: Message) -> Message:
        return {
            "assets": f"{self.origin}{self.assets}",
            "config": {"runtimeURL": f"{self.origin}{self.runtime}", **config},
            "runs": [{"task": task, "payload": payload} for task, payload in runs],
        }


def histogram_of(encoded: bytes) -> tuple[str, Any]:
    """Give the task that counts the colours of a file."""
    return "histogram", {"image": {"bytes": list(encoded)}}
