"""A page in which the pool's tests play their scenes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

HARNESS = Path(__file__).parent
EXPORTS = (
    *re.findall(
        r"^export (?:async )?(?:const|class|function) (\w+)",
        (HARNESS / "harness.js").read_text("utf-8"),
        re.MULTILINE,
    ),
    "WorkerPool",
    "TaskError",
)
SCENE = """
async (given) => {
  const harness = await import("/harness/harness.js");
  const { %s } = harness;
  return await harness.scene(async () => {
%s
  });
}
"""


@dataclass(frozen=True)
class PoolBench:
    """A page with this repository's modules and harness.js."""

    page: Page
    origin: str

    def play(self, body: str, given: Any = None) -> Any:
        """Run JavaScript that sees what harness.js exports; return what it returns.

        Afterwards every promise of its pools has settled once, and every worker has been ended.
        """
        return self.page.evaluate(SCENE % (", ".join(EXPORTS), body), given)
