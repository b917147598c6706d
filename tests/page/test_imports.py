"""The page's modules import in one direction."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*"\.{1,2}/(?:page/)?([\w-]+\.js)\"""")


def imports() -> dict[str, set[str]]:
    """Give what each module imports, statically or later, by file name."""
    files = [*sorted((ROOT / "page").glob("*.js")), ROOT / "worker.js"]
    code = {path.name: path.read_text("utf-8") for path in files}
    without_types = {
        name: re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) for name, text in code.items()
    }
    return {name: set(IMPORT.findall(text)) for name, text in without_types.items()}


def test_no_two_modules_need_each_other() -> None:
    """There is an order in which each module comes after all that it imports."""
    order = list(TopologicalSorter(imports()).static_order())
    assert order.index("protocol.js") < order.index("runtime.js") < order.index("worker.js")
    assert order[-1] == "main.js" or "main.js" not in {
        name for wanted in imports().values() for name in wanted
    }


def test_protocol_imports_nothing() -> None:
    """The messages stand alone."""
    assert imports()["protocol.js"] == set()


def reached_from(entry: str) -> set[str]:
    """Give the modules that come along with one, itself included."""
    graph = imports()
    reached: set[str] = set()
    ahead = {entry}
    while ahead:
        name = ahead.pop()
        reached.add(name)
        ahead |= graph.get(name, set()) - reached
    return reached


@pytest.mark.parametrize(
    ("entry", "family"),
    [
        ("worker.js", ("worker.js", "task-server.js", "protocol.js", "runtime")),
        ("pool.js", ("pool", "protocol.js", "standstill.js")),
    ],
    ids=["worker", "pool"],
)
def test_a_part_that_lifts_out_takes_nothing_of_the_page_along(
    entry: str, family: tuple[str, ...]
) -> None:
    """What runs in a worker, and the pool, do not need the page's own modules."""
    assert {name for name in reached_from(entry) if not name.startswith(family)} == set()


@pytest.mark.parametrize(
    "rules", ["pool-core.js", "pool-moves.js", "pool-queue.js", "pool-state.js"]
)
def test_the_rules_of_the_pool_do_nothing_themselves(rules: str) -> None:
    """No clock, no timer, no worker, no promise, no chance."""
    code = re.sub(r"/\*.*?\*/", "", (ROOT / "page" / rules).read_text("utf-8"), flags=re.DOTALL)
    doing = r"\b(performance|Date|setTimeout|setInterval|Worker\(|Promise|Math\.random|crypto)\b"
    assert re.findall(doing, code) == []


def test_every_module_is_used() -> None:
    """Nothing lies there that no page and no worker loads."""
    graph = imports()
    loaded = {name for wanted in graph.values() for name in wanted}
    entries = {"main.js", "worker.js", "first-paint.js", "transfer-worker.js"}
    entries |= {"dashboard.js", "dashboard-paint.js"}
    assert set(graph) - loaded - entries == set()
