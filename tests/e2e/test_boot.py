"""Booting Python on both threads, both ways, and what happens when a file is wrong."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import pytest

from handlers import canonical_json, run
from tests.corpus import small
from tests.e2e.boot_bench import BootBench, Session, histogram_of
from tests.e2e.conftest import Complaints

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route

FULL = os.environ.get("WORKERS_TEST_FULL") == "1"
THREADS = ("inWorker", "onMain")
SAMPLES = small()
PNG = SAMPLES["rgb.png"].data
MISSING = r"Failed to load resource: .*404"


def replace(file: Path, content: bytes) -> None:
    """Put other content in the place of a file that shares its content with another."""
    file.unlink()
    file.write_bytes(content)


Recorded = Callable[..., tuple[Session, list[str]]]


@pytest.fixture(scope="module")
def recorded(browser: Browser, stage: str, probe_runtime: Path) -> Recorded:
    """Boots on a thread and by a path in a new profile, and does what several tests look at.

    A worker counts every sample, and on either thread the last task fails. Gives what the runtime
    said, and what was fetched. Each boot is carried out once.
    """

    @cache
    def record(thread: str, path: str) -> tuple[Session, list[str]]:
        counted = [histogram_of(sample.data) for sample in SAMPLES.values()]
        tasks = [*(counted if thread == "inWorker" else []), ("probe-raise-inside", {})]
        profile = browser.new_context()
        bench = BootBench(profile.new_page(), stage, "modules/", "runtime/probe/", probe_runtime)
        complaints = Complaints([])
        with complaints.of(profile), bench.watched():
            bench.open()
            session = bench.start(thread, *tasks, plain=path == "plain")
        profile.close()
        assert complaints.unexpected() == []
        return session, bench.requests

    return record


@pytest.mark.parametrize("path", ["snapshot", "plain"])
def test_every_exact_sample_gives_what_cpython_gives(recorded: Recorded, path: str) -> None:
    """Both ways give the numbers that the server gives; test_three_places has both threads."""
    session, _requests = recorded("inWorker", path)

    assert session.boot["boot"]["path"] == path
    assert session.boot["boot"]["fallback"] is None
    for sample, answer in zip(SAMPLES.values(), session.answers[:-1], strict=True):
        if sample.exact:
            expected = run("histogram", {"image": sample.data})
            assert canonical_json(answer["result"]) == canonical_json(expected)


@pytest.mark.parametrize("path", ["snapshot", "plain"])
@pytest.mark.parametrize("thread", THREADS)
def test_exception_from_the_standard_library_arrives_whole(
    recorded: Recorded, thread: str, path: str
) -> None:
    """A traceback can be written where the source of its frames is missing."""
    session, _requests = recorded(thread, path)

    error = session.answers[-1]["error"]
    assert error["name"] == "JSONDecodeError"
    assert "handlers/probe.py" in error["traceback"]
    assert "json/decoder.py" in error["traceback"]


def test_no_sample_needs_a_file_that_the_snapshot_lacks(recorded: Recorded) -> None:
    """The snapshot holds every module that counting any kind of picture imports."""
    session, requests = recorded("inWorker", "snapshot")

    assert len(session.of("done")) == len(SAMPLES)
    assert not [url for url in requests if url.endswith((".whl", ".zip"))]


@pytest.mark.parametrize("thread", THREADS)
def test_ready_names_the_tasks_versions_and_stages(recorded: Recorded, thread: str) -> None:
    """The report of a boot says what can be run, with what, and where the time went."""
    ready = recorded(thread, "snapshot")[0].boot

    assert "histogram" in ready["tasks"]
    assert ready["boot"]["versions"] == {
        "pyodide": "314.0.4",
        "python": "3.14.2",
        "numpy": "2.4.3",
        "pillow": "12.2.0",
    }
    assert [stage["name"] for stage in ready["boot"]["stages"]] == [
        "compile",
        "interpreter",
        "handlers",
    ]


@pytest.mark.parametrize("path", ["snapshot", "plain"])
@pytest.mark.parametrize("thread", THREADS)
def test_download_counts_every_byte_up_to_the_total(
    recorded: Recorded, thread: str, path: str
) -> None:
    """Progress never goes back and ends at the total that it promised."""
    session, _requests = recorded(thread, path)

    counts = [stage for stage in session.of("stage") if stage["name"] == "download"]
    bytes_here = [stage["bytes"] for stage in counts]
    assert bytes_here == sorted(bytes_here)
    assert len({stage["total"] for stage in counts}) == 1
    assert bytes_here[-1] == counts[-1]["total"]
    assert len(counts) >= 7  # one for each file, at least


@pytest.mark.parametrize("thread", THREADS)
def test_nothing_of_micropip_is_on_the_way_to_ready(recorded: Recorded, thread: str) -> None:
    """Packages are resolved when the runtime is built, not when it boots."""
    _session, requests = recorded(thread, "plain")

    names = [url.rsplit("/", 1)[-1] for url in requests]
    assert "pyodide.asm.wasm" in names
    assert not [name for name in names if re.search("micropip|packaging|pyodide-lock", name)]


def test_tasks_sent_before_ready_are_answered(boot_bench: BootBench) -> None:
    """What a page sends before the worker is ready is not lost."""
    runs = [("probe-echo", {"value": number}) for number in range(5)]

    session = boot_bench.start("inWorker", *runs)

    assert session.results == [0, 1, 2, 3, 4]
    types = [message["type"] for message in session.messages]
    assert types.index("ready") < types.index("done")


@pytest.mark.parametrize("thread", THREADS)
def test_two_restored_interpreters_have_other_random_numbers(
    boot_bench: BootBench, thread: str
) -> None:
    """Interpreters that come from one snapshot do not share their random seed."""
    numbers = {boot_bench.start(thread, ("probe-random", {})).results[0] for _ in range(2)}

    assert len(numbers) == 2


@pytest.mark.parametrize("thread", THREADS)
def test_late_import_brings_the_files(boot_bench: BootBench, thread: str) -> None:
    """A module that is not in the snapshot is imported all the same; its files are fetched once."""
    session = boot_bench.start(thread, ("probe-late-import", {}), ("probe-late-import", {}))

    assert session.results == [[1.0, 4.0]] * 2
    values = [message["value"] for message in session.of("progress")]
    assert all(value == 0.5 for value in values)
    assert sum(url.endswith("python_stdlib.zip") for url in boot_bench.requests) == 1


def flip(content: bytes) -> bytes:
    """Change one bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES = {
    "one bit": ("snapshot.bin", flip, "sum is wrong"),
    "cut": ("snapshot.bin", lambda content: content[:-1], "instead of"),
    "longer": ("snapshot.bin", lambda content: content + b"\0", "longer than"),
    "no growMemory": (
        "pyodide.asm.mjs",
        lambda content: content.replace(b'Module["growMemory"]=growMemory;', b""),
        "no growMemory",
    ),
    "no snapshot option": (
        "pyodide.mjs",
        lambda content: content.replace(b"_loadSnapshot", b"_xoadSnapshot"),
        "does not restore snapshots",
    ),
    "other version": (
        "runtime.json",
        lambda content: content.replace(b'"pyodide":"314.0.4"', b'"pyodide":"314.0.3"'),
        "is for Pyodide 314.0.3",
    ),
    "other addresses": (
        "runtime.json",
        lambda content: re.sub(rb'"ownSymbols":-?\d+', b'"ownSymbols":1', content),
        "other addresses",
    ),
    "library is not WebAssembly": (
        "PIL._imaging.wasm",
        lambda _content: b"<!doctype html>",
        "PIL._imaging.wasm could not be loaded",
    ),
}
OF_A_FILE = ("cut", "longer")
OTHERS = [kind for kind in DAMAGES if kind not in ("one bit", *OF_A_FILE)]


def damage(folder: Path, kind: str) -> str:
    """Do that to a runtime; give what its boot has to say about it."""
    name, change, reason = DAMAGES[kind]
    content = (folder / name).read_bytes()
    changed = change(content)
    assert changed != content
    replace(folder / name, changed)
    return reason


@pytest.mark.parametrize(
    ("thread", "kind"),
    [("onMain", "one bit"), *(("inWorker", kind) for kind in (DAMAGES if FULL else OTHERS))],
)
def test_snapshot_that_does_not_fit_leads_to_the_plain_boot(
    damaged_bench: BootBench, thread: str, kind: str
) -> None:
    """Whatever is wrong with the snapshot or with what it relies on, Python boots and says why."""
    reason = damage(damaged_bench.folder, kind)

    session = damaged_bench.start(thread, histogram_of(PNG))

    assert session.boot["boot"]["path"] == "plain"
    assert reason in session.boot["boot"]["fallback"]
    [result] = session.results
    assert canonical_json(result) == canonical_json(run("histogram", {"image": PNG}))


@pytest.mark.parametrize("kind", OF_A_FILE)
def test_snapshot_of_another_length_is_told_as_it_arrives(
    damaged_bench: BootBench, kind: str
) -> None:
    """What such a boot goes by; a plain boot takes ten times as long as this."""
    reason = damage(damaged_bench.folder, kind)

    assert reason in damaged_bench.page.evaluate(
        """async ([assets, runtime]) => {
          const { Downloads } = await import(`${assets}page/runtime-files.js`);
          const downloads = new Downloads(runtime);
          await downloads.manifest();
          return await downloads.bytes("snapshot.bin").then(() => "", String);
        }""",
        [f"{damaged_bench.origin}{part}" for part in (damaged_bench.assets, damaged_bench.runtime)],
    )


@pytest.mark.complaints(MISSING)
@pytest.mark.parametrize(
    ("thread", "name"),
    [
        ("onMain", "runtime.json"),
        *(("inWorker", name) for name in ("runtime.json", "pyodide.mjs", "pyodide.asm.mjs")),
        *(("inWorker", name) for name in ("pyodide.asm.wasm", "python_stdlib.zip")),
    ],
)
def test_missing_file_fails_the_boot_and_is_named(
    damaged_bench: BootBench, thread: str, name: str
) -> None:
    """A file without which nothing works ends the boot with its name."""
    (damaged_bench.folder / name).unlink()

    session = damaged_bench.start(thread, plain=True)

    assert session.boot["type"] == "boot-failed"
    assert name in session.boot["error"]["message"]


@pytest.mark.complaints(MISSING)
@pytest.mark.parametrize("thread", THREADS if FULL else THREADS[:1])
def test_missing_snapshot_leads_to_the_plain_boot(damaged_bench: BootBench, thread: str) -> None:
    """The snapshot is not needed."""
    (damaged_bench.folder / "snapshot.bin").unlink()

    boot = damaged_bench.start(thread).boot["boot"]

    assert boot["path"] == "plain"
    assert "snapshot.bin could not be loaded: 404" in boot["fallback"]


@pytest.mark.parametrize("thread", THREADS)
def test_page_of_a_host_instead_of_wasm_fails_the_boot(
    damaged_bench: BootBench, thread: str
) -> None:
    """A host that answers with a page of its own is told apart from the file."""
    replace(damaged_bench.folder / "pyodide.asm.wasm", b"<!doctype html><title>Sorry</title>")

    session = damaged_bench.start(thread)

    assert session.boot["type"] == "boot-failed"
    assert "pyodide.asm.wasm could not be loaded" in session.boot["error"]["message"]


@pytest.mark.parametrize("thread", THREADS)
def test_boot_has_a_time_limit_of_its_own(boot_bench: BootBench, thread: str) -> None:
    """A boot that hangs ends."""
    session = boot_bench.start(thread, timeout=1)

    assert session.boot["type"] == "boot-failed"
    assert session.boot["error"]["message"] == "Python did not start within 1 ms"


def test_shared_boots_count_alike_and_fetch_scripts_only(quick_boot: BootBench) -> None:
    """What one worker shares serves any number of others, and the page's own thread."""
    sessions = [
        quick_boot.start(thread, histogram_of(PNG), ("probe-late-import", {}))
        for thread in ("inWorker", "inWorker", "onMain")
    ]

    expected = canonical_json(run("histogram", {"image": PNG}))
    for session in sessions:
        assert session.boot["boot"]["path"] == "shared"
        assert session.boot["boot"]["fallback"] is None
        assert canonical_json(session.results[0]) == expected
        assert session.results[1] == [1.0, 4.0]
    names = [url.rsplit("/", 1)[-1] for url in quick_boot.requests]
    needed_by_the_import = ("runtime.json", "python_stdlib.zip")
    assert not [
        name
        for name in names
        if not name.endswith((".js", ".mjs", ".whl")) and name not in needed_by_the_import
    ]


def test_page_without_isolation_shares_a_blob(page: Page, stage: str, probe_runtime: Path) -> None:
    """Where there is no shared memory, the snapshot is still posted without a copy."""
    bench = BootBench(page, stage, "modules/", "runtime/probe/", probe_runtime, "shared")
    page.route("**/harness/index.html", without_isolation)
    with bench.watched():
        bench.open()
        bench.share()

        session = bench.start("inWorker", histogram_of(PNG))

    shared = page.evaluate("[crossOriginIsolated, shared.snapshot instanceof Blob]")
    assert shared == [False, True]
    assert session.boot["boot"]["path"] == "shared"
    [result] = session.results
    assert canonical_json(result) == canonical_json(run("histogram", {"image": PNG}))
    assert not [url for url in bench.requests if not url.endswith(("js", ".html"))]


def without_isolation(route: Route) -> None:
    """Answer without the headers that isolate a page."""
    response = route.fetch()
    isolating = ("cross-origin-opener-policy", "cross-origin-embedder-policy")
    headers = {name: value for name, value in response.headers.items() if name not in isolating}
    route.fulfill(response=response, headers=headers)


UNFIT = {
    "null": ("null", "is about undefined"),
    "other runtime": ("{...shared, runtimeURL: shared.runtimeURL + 'x/'}", "is about http"),
    "no snapshot": ("{...shared, snapshot: undefined}", "not whole"),
    "no libraries": ("{...shared, libraries: undefined}", "not whole"),
    "module is none": ("{...shared, wasm: {}}", "not whole"),
    "too few libraries": ("{...shared, libraries: shared.libraries.slice(1)}", "TypeError"),
    "snapshot cut": ("{...shared, snapshot: new SharedArrayBuffer(8)}", "has 8 bytes instead of"),
    "other module": ("{...shared, wasm: shared.libraries[0]}", "Error"),
}


@pytest.mark.complaints("wasm instantiation failed", "LinkError", "TypeError")
@pytest.mark.parametrize("shared", UNFIT)
def test_what_is_shared_and_does_not_fit_is_not_used(quick_boot: BootBench, shared: str) -> None:
    """The worker then fetches everything by itself, and says why."""
    change, reason = UNFIT[shared]

    session = quick_boot.start("inWorker", histogram_of(PNG), shared=change)

    assert session.boot["boot"]["path"] == "snapshot"
    assert reason in session.boot["boot"]["fallback"]
    [result] = session.results
    assert canonical_json(result) == canonical_json(run("histogram", {"image": PNG}))


def test_manifest_lists_every_file(probe_runtime: Path) -> None:
    """The manifest lists every file with its size."""
    manifest = json.loads((probe_runtime / "runtime.json").read_text())

    sizes = {path.name: path.stat().st_size for path in probe_runtime.iterdir()}
    del sizes["runtime.json"]
    assert manifest["files"] == sizes
