"""The log's action words are a fixed vocabulary, and the operator's page has all of it."""

import ast
import re
from pathlib import Path

import server

FOLDER = Path(server.__file__).parent
PAGE = FOLDER.parent / "docs" / "operations.md"
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def _logged(tree: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LEVELS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "log"
    ]


def _words(tree: ast.AST) -> set[str]:
    """Every action word: in a dict, and as the second argument of the outbox's `told`."""
    words = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "action":
                    if isinstance(value, ast.Constant):
                        words.add(str(value.value))
                    else:
                        assert isinstance(value, ast.Name)
                        assert value.id == "action", ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "told":
            word = node.args[1]
            assert isinstance(word, ast.Constant), ast.unparse(node)
            words.add(str(word.value))
    return words


def test_every_line_of_the_log_has_an_action_word():
    """So that a program can tell lines apart without reading sentences."""
    lines = 0
    for path in FOLDER.rglob("*.py"):
        for call in _logged(ast.parse(path.read_text(encoding="utf-8"))):
            lines += 1
            assert "'action'" in ast.unparse(call), f"{path}: {ast.unparse(call)}"
    assert lines > 20


def test_the_operators_page_lists_exactly_these_words():
    """Neither one too few nor one that is never said."""
    said = set()
    for path in FOLDER.rglob("*.py"):
        said |= _words(ast.parse(path.read_text(encoding="utf-8")))
    table = PAGE.read_text(encoding="utf-8").split("## The log")[1]
    listed = re.findall(r"^\| `([a-z-]+)` \|", table, flags=re.MULTILINE)
    assert sorted(listed) == sorted(said)
    assert listed == sorted(listed)
