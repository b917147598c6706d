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
        options = {
            "assets": f"{self.origin}{self.assets}",
            "config": {"runtimeURL": f"{self.origin}{self.runtime}", **config},
            "runs": [{"task": task, "payload": payload} for task, payload in runs],
        }
        return Session(self.page.evaluate(CALL, [thread, options]))


def histogram_of(encoded: bytes) -> tuple[str, Any]:
    """Give the task that counts the colours of a file."""
    return "histogram", {"image": {"bytes": list(encoded)}}
