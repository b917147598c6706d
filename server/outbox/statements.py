"""Reads the SQL that lies beside this module, so that it can be read and run by hand as SQL."""

from functools import cache
from pathlib import Path

SQL = Path(__file__).parent / "sql"


@cache
def statement(name: str, folder: Path = SQL) -> bytes:
    """The statement in sql/<name>.sql. Raises FileNotFoundError for an unknown name.

    Comment lines are left out, so that a percent sign in prose is not taken for a parameter.
    """
    lines = (folder / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("--")).encode()
