"""The outbox works where nothing else of this project is."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server import outbox

FOLDER = Path(outbox.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    assert found
    return found[1]


def test_it_imports_psycopg_and_the_standard_library_only():
    """Whatever else it needs lies in the folder."""
    allowed = sys.stdlib_module_names | {"psycopg"}
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            elif isinstance(node, ast.ImportFrom):
                depth = len(path.relative_to(FOLDER).parts)
                assert node.level <= depth, f"{path} reaches above the package"
            assert {name.split(".")[0] for name in names} <= allowed, path


def test_the_rules_do_no_input_or_output():
    """Policy and model take time and chance as parameters."""
    banned = {"asyncio", "time", "random", "psycopg", "os", "logging", "socket", "secrets"}
    for name in ("policy.py", "breaker.py", "model.py"):
        tree = ast.parse((FOLDER / name).read_text(encoding="utf-8"))
        imported = {
            alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        } | {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        assert not imported & banned, name


def test_its_example_runs_alone(tmp_path, empty_database):
    """Copied into an empty folder under another name, with the server package out of reach."""
    shutil.copytree(FOLDER, tmp_path / "outbox", ignore=shutil.ignore_patterns("__pycache__"))
    barrier = "import sys; sys.modules['server'] = None\n"
    (tmp_path / "example.py").write_text(barrier + _block("python"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py", empty_database],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "ada@example.org Good morning",
        "sent 1, refused for good 1",
    ]


@pytest.mark.parametrize("status", ["failed", "dead"])
async def test_the_second_chance_of_the_readme_works(connection, rows, status):
    """An operator gives a delivery that has ended another attempt."""
    await rows.add(connection, max_attempts=1)
    [delivery] = await rows.take(connection)
    await outbox.settle(
        connection, [outbox.Settlement(delivery.id, 1, outbox.Status(status), "no")]
    )
    await connection.execute(_block("sql").replace("42", str(delivery.id)).encode())
    [again] = await rows.take(connection)
    assert (again.id, again.attempt) == (delivery.id, 2)
