"""A tab that can be hidden and frozen.

Playwright emulates focus in every page of its own, and such a page is always visible. This tab is
opened beside them, over the browser's protocol.
"""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Browser

IS_HIDDEN = """
new Promise((resolve) => {
  const look = () => document.hidden && resolve(true);
  document.addEventListener("visibilitychange", look);
  look();
})
"""


class Tab:
    """One tab, in front when it opens."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._session = browser.new_browser_cdp_session()
        self._pump = browser.new_page()
        self._answers: dict[int, Any] = {}
        self._sent = 0
        self._events: list[str] = []
        self._target = self._session.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._session.send(
            "Target.attachToTarget", {"targetId": self._target, "flatten": False}
        )
        self._id = attached["sessionId"]
        self._session.on("Target.receivedMessageFromTarget", self._receive)
        self._send("Page.enable")
        self._send("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._events:
            self.pass_time(1)

    def evaluate(self, expression: str) -> Any:
        """Return what an expression, or the promise that it is, comes to."""
        answer = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def hide(self) -> None:
        """Put another tab in front."""
        self._session.send("Target.createTarget", {"url": "about:blank"})
        assert self.evaluate(IS_HIDDEN)

    def freeze(self) -> None:
        """Let the hidden tab stand still, as browsers do after some minutes."""
        self._send("Page.setWebLifecycleState", state="frozen")

    def resume(self) -> None:
        """Let it go on."""
        self._send("Page.setWebLifecycleState", state="active")

    def close(self) -> None:
        """Close it."""
        self._session.send("Target.closeTarget", {"targetId": self._target})
        self._pump.close()

    def pass_time(self, ms: float) -> None:
        """Let time pass outside of the tab."""
        self._pump.evaluate("(ms) => new Promise((resolve) => setTimeout(resolve, ms))", ms)

    def _receive(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self._events.append(message["method"])

    def _send(self, method: str, **parameters: Any) -> Any:
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        self._session.send(
            "Target.sendMessageToTarget", {"sessionId": self._id, "message": json.dumps(message)}
        )
        while message["id"] not in self._answers:
            self.pass_time(1)
        answer = self._answers.pop(message["id"])
        assert "error" not in answer, answer["error"]
        return answer["result"]
