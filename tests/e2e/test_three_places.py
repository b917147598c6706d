"""One function, three places: main thread, worker and CPython count the same picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

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
from tests.e2e.conftest import Serve, Site

NO_BACKEND = r"Failed to load resource.*404.*/api/"
pytestmark = [pytest.mark.complaints(NO_BACKEND), pytest.mark.timeout(300)]

COUNT = """
async ([assets, names, methods]) => {
  const { runtimeOn } = await import(`/${assets}page/places.js`);
  const answers = [];
  for (const name of names) {
    const image = new Uint8Array(await (await fetch(`/corpus/${name}`)).arrayBuffer());
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


def count_on(
    page: Page, serve: Serve, site: Site, folder: Path, names: list[str]
) -> list[dict[str, Any]]:
    """Count each file of a folder on both threads of one page, in turn."""
    page.goto(serve({"/": site.folder, "/corpus/": folder}))
    answers: list[dict[str, Any]] = page.evaluate(COUNT, [site.assets, names, "vectorised"])
    return answers


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


def test_big_pictures_are_equal_in_all_three_places(page: Page, serve: Serve, site: Site) -> None:
    """Both threads byte for byte always; CPython too wherever the decoder is exact."""
    paths = {name: big(name) for name in BIG}
    folder = next(iter(paths.values())).parent
    for answer in count_on(page, serve, site, folder, list(BIG)):
        name = answer["name"]
        bound = 0 if BIG[name].exact else BIG_PHOTO_BOUND
        compare(answer, paths[name].read_bytes(), bound)


def test_small_pictures_of_every_kind_are_equal(
    page: Page, serve: Serve, site: Site, tmp_path: Path
) -> None:
    """Every mode and format that is taken, once."""
    samples = small()
    for name, sample in samples.items():
        (tmp_path / name).write_bytes(sample.data)
    for answer in count_on(page, serve, site, tmp_path, list(samples)):
        sample = samples[answer["name"]]
        compare(answer, sample.data, 0 if sample.exact else TINY_BOUND)


def test_the_pages_own_samples_are_as_near_as_the_page_says(
    page: Page, serve: Serve, site: Site
) -> None:
    """Photographs as JPEG with subsampled chroma: the bound that the page states."""
    folder = site.folder / site.assets / "samples"
    names = [sample["file"] for sample in json.loads((folder / "samples.json").read_bytes())]
    for answer in count_on(page, serve, site, folder, names):
        compare(answer, (folder / answer["name"]).read_bytes(), PHOTO_BOUND)


def test_two_hundred_broken_files_get_their_typed_error_and_the_next_is_answered(
    page: Page, serve: Serve, site: Site, tmp_path: Path
) -> None:
    """Truncated, corrupted and foreign files, on both threads; nothing hangs."""
    files = {f"{number:03}": one for number, one in enumerate(broken())}
    assert len(files) >= 200
    for name, one in files.items():
        (tmp_path / name).write_bytes(one.data)
    good = small()["rgb.png"]
    (tmp_path / "good").write_bytes(good.data)
    *failures, last = count_on(page, serve, site, tmp_path, [*files, "good"])
    for answer in failures:
        one = files[answer["name"]]
        for place in ("main", "worker"):
            assert answer[place].get("code") in one.codes, (one.name, answer[place])
            assert answer[place]["message"]
    assert json.loads(last["worker"]["text"]) == in_cpython(good.data)
    assert last["main"]["text"] == last["worker"]["text"]
