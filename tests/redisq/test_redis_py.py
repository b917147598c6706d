"""The queue on the oldest redis-py that is supported; `make test-redis-py` takes more tests."""

from __future__ import annotations

import tomllib

import pytest

from tests.redisq import oldest


def test_the_project_says_which_one_that_is() -> None:
    """What installs the queue must not choose an older one."""
    project = tomllib.loads((oldest.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"redis[hiredis]>={oldest.version()}" in project["dependencies"]


@pytest.mark.timeout(600)
def test_it_works_with_the_oldest_release() -> None:
    """Enqueueing and running, on a server of its own."""
    files = ("tests/redisq/test_enqueue.py", "tests/redisq/test_run.py")
    assert oldest.installed_version() == oldest.version()
    assert oldest.run(*files, "-k", "valkey") == 0
