"""One function, three places: main thread, worker and CPython count the same picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import handlers
from tests.corpus import (
    BIG,
    BIG_PHOTO_BOUND,
    PHOTO_BOUND,
    TINY_BOUND,
    big,
    broken,
    distance,
    small,
)
from tests.e2e.conftest import Complaints, Serve, Site

NO_BACKEND = r"Failed to load resource.*404.*/api/"
pytestmark = [pytest.mark.complaints(NO_BACKEND), pytest.mark.timeout(300)]

COUNT = """
async ([assets, folder, names, methods]) => {
  const { runtimeOn } = await import(`/${assets}page/places.js`);
  const answers = [];
  for (const name of names) {
    const image = new Uint8Array(await (await fetch(`/${folder}${name}`)).arrayBuffer());
    const answer = { name };
    for (const place of ["main", "worker"]) {
      const runtime = await runtimeOn(place, () => {});
      try {
        const { stages, runtime: versions, ...told } =
          await runtime.run("histogram", { image, method: methods });
        answer[place] = { text: JSON.stringify(told), stages, versions };
      } catch (error) {
        answer[place] = { name: error.name, code: error.code, message: error.message };
      }
    }
    answers.push(answer);
  }
  return answers;
}
"""


Count = Callable[[str, list[str]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files that are made here, which is served as `corpus/`."""
    return tmp_path_factory.mktemp("corpus")


@pytest.fixture(scope="module")
def paths() -> dict[str, Path]:
    """The big pictures, all of them in one folder, which is served as `big/`."""
    return {name: big(name) for name in BIG}


@pytest.fixture(scope="module")
def page(
    browser: Browser, serve: Serve, site: Site, corpus: Path, paths: dict[str, Path]
) -> Iterator[Page]:
    """One page for the file: the first test starts Python on both of its threads."""
    [folder] = {path.parent for path in paths.values()}
    opened = browser.new_page()
    opened.goto(serve({"/": site.folder, "/corpus/": corpus, "/big/": folder}))
    yield opened
    opened.context.close()


@pytest.fixture
def count(page: Page, site: Site, complaints: Complaints) -> Iterator[Count]:
    """Counts each file of a folder that is served on both threads of one page, in turn."""

    def on_both(folder: str, names: list[str]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = page.evaluate(
            COUNT, [site.assets, folder, names, "vectorised"]
        )
        return answers

    with complaints.of(page.context):
        yield on_both


def in_cpython(data: bytes) -> dict[str, Any]:
    """Count here, and tell what must be equal elsewhere: all but timings and versions."""
    result: dict[str, Any] = handlers.run("histogram", {"image": data})
    told = {name: value for name, value in result.items() if name not in ("stages", "runtime")}
    return json.loads(json.dumps(told))  # type: ignore[no-any-return]


def compare(answer: dict[str, Any], data: bytes, bound: float) -> None:
    """Hold the threads to equality, and CPython to it too, or to a distance of the bins."""
    name = answer["name"]
    assert answer["main"]["text"] == answer["worker"]["text"], name
    browser = json.loads(answer["worker"]["text"])
    here = in_cpython(data)
    if bound == 0:
        assert browser == here, name
        return
    assert distance(browser, here) <= bound, name
    told = ("schema", "image", "counted", "method")
    assert {key: browser[key] for key in told} == {key: here[key] for key in told}, name


def test_big_pictures_are_equal_in_all_three_places(count: Count, paths: dict[str, Path]) -> None:
    """Both threads byte for byte always; CPython too wherever the decoder is exact."""
    for answer in count("big/", list(BIG)):
        name = answer["name"]
        bound = 0 if BIG[name].exact else BIG_PHOTO_BOUND
        compare(answer, paths[name].read_bytes(), bound)


def test_small_pictures_of_every_kind_are_equal(count: Count, corpus: Path) -> None:
    """Every mode and format that is taken, once."""
    samples = small()
    for name, sample in samples.items():
        (corpus / name).write_bytes(sample.data)
    for answer in count("corpus/", list(samples)):
        sample = samples[answer["name"]]
        compare(answer, sample.data, 0 if sample.exact else TINY_BOUND)


def test_the_pages_own_samples_are_as_near_as_the_page_says(count: Count, site: Site) -> None:
    """Photographs as JPEG with subsampled chroma: the bound that the page states."""
    folder = site.folder / site.assets / "samples"
    names = [sample["file"] for sample in json.loads((folder / "samples.json").read_bytes())]
    for answer in count(f"{site.assets}samples/", names):
        compare(answer, (folder / answer["name"]).read_bytes(), PHOTO_BOUND)


def test_two_hundred_broken_files_get_their_typed_error_and_the_next_is_answered(
    count: Count, corpus: Path
) -> None:
    """Truncated, corrupted and foreign files, on both threads; nothing hangs."""
    files = {f"{number:03}": one for number, one in enumerate(broken())}
    assert len(files) >= 200
    for name, one in files.items():
        (corpus / name).write_bytes(one.data)
    good = small()["rgb.png"]
    (corpus / "good").write_bytes(good.data)
    *failures, last = count("corpus/", [*files, "good"])
    for answer in failures:
        one = files[answer["name"]]
        for place in ("main", "worker"):
            assert answer[place].get("code") in one.codes, (one.name, answer[place])
            assert answer[place]["message"]
    assert json.loads(last["worker"]["text"]) == in_cpython(good.data)
    assert last["main"]["text"] == last["worker"]["text"]
