"""The outbox works where nothing else of this project is."""

import ast
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from server import outbox

FOLDER = Path(outbox.__file__).parent
ROOT = FOLDER.parent.parent
README = (ROOT / "examples" / "outbox" / "README.md").read_text(encoding="utf-8")
LISTED = dict(re.findall(r"(?m)^\| `([\w./]+)` \| `([\w./]+)` \|$", README))
PATIENCE_S = 60.0


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


def test_no_clock_of_a_host_is_read():
    """When something is due, and until when a lease holds, is the database's to say.

    What a process measures itself are spans, on a clock that cannot be set.
    """
    wall = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime"}
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = ast.unparse(node.func.value)
                assert not (of in {"time", "datetime", "date"} and node.func.attr in wall), path


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


@pytest.fixture(scope="module")
def psycopg_alone(tmp_path_factory):
    """A folder with psycopg and what it needs, and no other package."""
    folder = tmp_path_factory.mktemp("packages")
    for package in ("psycopg", "psycopg-binary", "typing-extensions"):
        files = importlib.metadata.files(package)
        assert files
        for top in {file.parts[0] for file in files} - {".."}:
            (folder / top).symlink_to(files[0].locate().parents[len(files[0].parts) - 1] / top)
    return folder


class Shop:
    """The example in a folder of its own, run by a Python that has only psycopg."""

    def __init__(self, folder, packages, database):
        self._folder = folder
        self._environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages)}
        self.database = database
        for source, place in LISTED.items():
            if (ROOT / source).is_dir():
                shutil.copytree(
                    ROOT / source, folder / place, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(ROOT / source, folder / place)

    def start(self, *arguments, database=None):
        """Starts a program of the example."""
        url = self.database if database is None else database
        return subprocess.Popen(
            # Without the site module no package that is installed can be found.
            [sys.executable, "-S", "-W", "error", *arguments],
            cwd=self._folder,
            env=self._environment | {"DATABASE_URL": url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments, database=None):
        """Runs one to its end, and returns what it printed."""
        program = self.start(*arguments, database=database)
        said, complaints = program.communicate(timeout=PATIENCE_S)
        assert (program.returncode, complaints) == (0, "")
        return said.splitlines()

    def rows(self, query):
        """What is in the database."""
        with psycopg.connect(self.database) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def shop(tmp_path, psycopg_alone, empty_database):
    """The example, and an empty database."""
    return Shop(tmp_path, psycopg_alone, empty_database)


STATES = "select status, attempts from notifications.notification_deliveries order by id"


def test_the_example_runs_alone(shop):
    """As its README says: orders with their mails, and a worker that sends these."""
    assert shop.run("producer.py") == ["order 1, delivery 1"]
    assert shop.run("producer.py", "nobody", "a ribbon") == ["order 2, delivery 2"]
    assert shop.rows("select customer, item from orders order by id") == [
        ("ada@example.org", "a book"),
        ("nobody", "a ribbon"),
    ]
    assert shop.run("worker.py", "--drain", "--takes", "0") == [
        "sending 1",
        "sent 1 to ada@example.org: Thank you for order 1: a book",
        "sent 1, refused for good 1, to be tried again 0",
    ]
    assert shop.rows(STATES) == [("sent", 1), ("failed", 1)]


def test_an_order_that_fails_leaves_no_mail(shop):
    """Both or neither, whichever of the two it is."""
    shop.run("producer.py")
    with psycopg.connect(shop.database) as connection:
        connection.execute("alter table orders add check (item <> 'nothing')")
        connection.execute(
            "alter table notifications.notification_deliveries add check (recipient <> 'nobody')"
        )
    for customer, item in (("ada@example.org", "nothing"), ("nobody", "a book")):
        program = shop.start("producer.py", customer, item)
        _, complaints = program.communicate(timeout=PATIENCE_S)
        assert program.returncode == 1
        assert "CheckViolation" in complaints
    assert shop.rows("select id from orders") == [(1,)]
    assert shop.rows(STATES) == [("pending", 0)]


def test_ctrl_c_loses_nothing(shop):
    """What is being sent is finished, the rest is handed back, and another worker sends it."""
    shop.run("producer.py")
    more = [outbox.NewDelivery("mail", "ada@example.org", {"text": "x"})] * 14
    with psycopg.connect(shop.database) as connection:
        outbox.enqueue_sync(connection, more)
    with shop.start("worker.py", "--takes", "1") as worker:
        said = worker.stdout.readline()
        worker.send_signal(signal.SIGINT)
        said += worker.stdout.read()
        complaints = worker.stderr.read()
    assert (worker.returncode, complaints) == (0, "")
    # Those that the signal found under way; it may have taken longer than all of them.
    begun = len(re.findall(r"(?m)^sending ", said))
    assert 1 <= begun <= 15
    assert said.splitlines()[-1] == f"sent {begun}, refused for good 0, to be tried again 0"
    assert [status for status, _ in shop.rows(STATES)].count("sent") == begun
    assert {status for status, _ in shop.rows(STATES)} <= {"sent", "pending"}
    again = shop.run("worker.py", "--drain", "--takes", "0")
    assert {status for status, _ in shop.rows(STATES)} == {"sent"}
    sent = re.findall(r"(?m)^sending (\d+)$", said + "\n".join(again))
    assert sorted(map(int, sent)) == list(range(1, 16))


@pytest.mark.parametrize("program", ["producer.py", "worker.py"])
def test_the_example_explains_itself(shop, program):
    """With --help, and when there is no database."""
    assert shop.run(program, "--help")[0].startswith("usage: ")
    lost = shop.start(program, database="host=127.0.0.1 port=1")
    _, complaints = lost.communicate(timeout=PATIENCE_S)
    assert lost.returncode == 1
    assert "DATABASE_URL=" in complaints
    assert "Traceback" not in complaints


@pytest.mark.parametrize("status", ["failed", "dead"])
async def test_the_second_chance_of_the_readme_works(connection, rows, status):
    """An operator gives a delivery that has ended another attempt."""
    await rows.add(connection, max_attempts=1)
    [delivery] = await rows.take(connection)
    await outbox.settle(
        connection, [outbox.Settlement(delivery.id, 1, outbox.Status(status), "no")]
    )
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    [by_hand] = re.findall(r"```sql\n(.*?)```", readme, flags=re.DOTALL)
    await connection.execute(by_hand.replace("42", str(delivery.id)).encode())
    [again] = await rows.take(connection)
    assert (again.id, again.attempt) == (delivery.id, 2)
