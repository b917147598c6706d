"""What becomes of every promise when workers misbehave: the pool here, and its peers.

    python -m bench.pool_torture [--write] [--only ours]

Compares what happened with docs/pool-conformance.md, or writes that file with --write. Exits with 1
if they differ (what stands in parentheses may) or if the pool here fails one check. Every check
runs on every subject in a fresh page of one Chromium, a few at the same time, because most of the
time goes into waiting for promises that hang.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from bench.pool_peers.site import ROOT, SUBJECTS, served, versions
from tests.chromium import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from playwright.sync_api import Page

TABLE = ROOT / "docs" / "pool-conformance.md"
TEMPLATE = ROOT / "bench" / "pool_peers" / "conformance.md"
OURS = "ours"
AT_ONCE = 3
IN_PARENTHESES = re.compile(r" \([^()]*\)")
# What runs is left in a global, so that the pages of all subjects can run at once.
BEGIN = """([name, number]) => {
  globalThis.verdict = import("./torture.js").then(({check}) => check(name, number));
  globalThis.verdict.catch(() => {});
}"""

Run = tuple[str, int]
"""A subject's name, and the number of a check in the plan."""


@dataclass(frozen=True)
class Row:
    """One check: its title, and by subject what happened."""

    title: str
    cells: dict[str, str]


def cell(verdict: dict[str, str]) -> str:
    """Give a verdict as the table has it: words, and in parentheses what may differ."""
    detail = verdict.get("detail")
    return verdict["verdict"] + (f" ({detail})" if detail else "")


def together(pages: Iterator[Page], origin: str, runs: Iterable[Run]) -> dict[Run, str]:
    """Run checks at the same time, each in a page of its own; give what happened."""
    under_way = []
    for run, page in zip(runs, pages, strict=False):
        page.goto(origin, wait_until="commit")
        page.evaluate(BEGIN, list(run))
        under_way.append((run, page))
    return {run: cell(page.evaluate("globalThis.verdict")) for run, page in under_way}


def batches(plan: dict[str, Any], subjects: Sequence[str]) -> Iterator[list[Run]]:
    """Give what may run at the same time, until everything has run."""
    patient = [number for number, check in enumerate(plan["checks"]) if not check["alone"]]
    for first in range(0, len(patient), AT_ONCE):
        yield [(name, number) for number in patient[first : first + AT_ONCE] for name in subjects]
    for number, check in enumerate(plan["checks"]):
        if check["alone"]:
            yield from ([(name, number)] for name in subjects)


def table(rows: Iterable[Row], subjects: Sequence[str]) -> str:
    """Give the rows as a Markdown table."""
    lines = [["", *(SUBJECTS[name] for name in subjects)]]
    lines += [["---"] * len(lines[0])]
    lines += [[row.title, *(row.cells[name] for name in subjects)] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def document(rows: Sequence[Row], plan: dict[str, Any], browser: str) -> str:
    """Give the whole file, with what a reader needs to judge it."""
    peers = ", ".join(f"{name} {version}" for name, version in versions().items())
    good = {name: sum(row.cells[name].startswith("ok") for row in rows) for name in SUBJECTS}
    sums = ", ".join(f"{SUBJECTS[name]} {count}" for name, count in good.items())
    template = TEMPLATE.read_text("utf-8")
    return template.format(
        browser=browser,
        peers=peers,
        limit=f"{plan['limit'] / 1000:g}",
        boot_limit=f"{plan['bootLimit'] / 1000:g}",
        checks=len(rows),
        sums=sums,
        table=table(rows, list(SUBJECTS)),
    )


def verdicts(text: str) -> list[str]:
    """Give the lines of the table without what may differ."""
    return [IN_PARENTHESES.sub("", line) for line in text.splitlines() if line.startswith("| ")]


def run_all(subjects: Sequence[str]) -> tuple[list[Row], dict[str, Any], str]:
    """Run every check on the subjects; give the rows, the plan and the browser's version."""
    with served() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        pages = [browser.new_page() for _ in range(AT_ONCE * len(subjects))]
        pages[0].goto(origin)
        plan = pages[0].evaluate("import('./torture.js').then(({plan}) => plan)")
        seen: dict[Run, str] = {}
        for batch in batches(plan, subjects):
            seen |= together(iter(pages), origin, batch)
        version = browser.version
        browser.close()
    rows = [
        Row(check["title"], {name: seen[name, number] for name in subjects})
        for number, check in enumerate(plan["checks"])
    ]
    return rows, plan, version


def main(arguments: list[str] | None = None) -> int:
    """Run the checks; the exit code is 0 if the pool here passes all and the table is as it was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table instead of comparing")
    parser.add_argument("--rounds", type=int, help="for `make bench` only: each check runs once")
    parser.add_argument("--only", choices=SUBJECTS, help="one subject; write nothing")
    chosen = parser.parse_args(arguments)
    subjects = [chosen.only] if chosen.only else list(SUBJECTS)
    rows, plan, version = run_all(subjects)
    for row in rows:
        print(row.title)
        for name, text in row.cells.items():
            print(f"    {SUBJECTS[name]:12} {text}")
    failed = [row for row in rows if not row.cells.get(OURS, "ok").startswith("ok")]
    for row in failed:
        print(f"FAILED: {row.title}: {row.cells[OURS]}")
    if chosen.only:
        return 1 if failed else 0
    text = document(rows, plan, version)
    if chosen.write:
        TABLE.write_text(text, "utf-8")
        print(f"wrote {TABLE.relative_to(Path.cwd())}")
        return 1 if failed else 0
    differing = set(verdicts(TABLE.read_text("utf-8"))) ^ set(verdicts(text))
    for line in sorted(differing):
        print(f"DIFFERS: {line}")
    return 1 if failed or differing else 0


if __name__ == "__main__":
    sys.exit(main())
