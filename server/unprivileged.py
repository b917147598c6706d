"""Runs programs that refuse to run as root under an account that is not.

PostgreSQL will not run as root, which is who one is in most containers. Then it runs as
`postgres` or `nobody`. Where that account could not reach the folder (a clone under /root),
nobody's permissions are widened: the process gets the one capability that lets it pass
(CAP_DAC_OVERRIDE), which is still far less than root has.
"""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from server.errors import DatabaseError


class Identity(TypedDict, total=False):
    """The arguments of subprocess.run that change who a process is."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Account:
    """Who a program runs as. `uid` is None when it runs as ourselves."""

    uid: int | None = None
    gid: int | None = None
    setpriv: str | None = None

    def own(self, folder: Path) -> None:
        """Gives a folder to the account."""
        if self.uid is not None and self.gid is not None:
            os.chown(folder, self.uid, self.gid)

    def command(self, command: list[str]) -> list[str]:
        """The command, wrapped where the account needs its capability."""
        if self.setpriv is None:
            return command
        return [
            self.setpriv,
            f"--reuid={self.uid}",
            f"--regid={self.gid}",
            "--clear-groups",
            "--securebits=+no_setuid_fixup",
            "--inh-caps=+dac_override",
            "--ambient-caps=+dac_override",
            *command,
        ]

    def identity(self) -> Identity:
        """What subprocess.run needs to know to run a program under the account."""
        if self.uid is None or self.gid is None or self.setpriv is not None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def unprivileged_account(data: Path, binaries: Path) -> Account:
    """The account under which the programs in `binaries` work on the folder `data`.

    Ourselves, unless we are root: then whoever owns `data`, if it exists. Raises DatabaseError if
    `data` belongs to somebody else, or if root cannot become anybody who can reach both.
    """
    owner = data.stat() if data.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise DatabaseError(
                f"{data} belongs to another user (number {owner.st_uid})",
                hint="Set WORKERS_DATA_DIR to a folder of your own.",
            )
        return Account()
    if owner is not None and owner.st_uid != 0:
        uid, gid = owner.st_uid, owner.st_gid
    else:
        entry = _entry()
        uid, gid = entry.pw_uid, entry.pw_gid
    if all(_open_to_all(parent) for place in (data, binaries) for parent in place.parents):
        return Account(uid, gid)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise DatabaseError(
            f"PostgreSQL does not run as root, and no other user can reach {data}",
            hint="Install setpriv (util-linux), work in another folder, or set DATABASE_URL.",
        )
    return Account(uid, gid, setpriv)


def _entry() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise DatabaseError(
        "PostgreSQL does not run as root, and there is neither 'postgres' nor 'nobody' here",
        hint="Run as another user, or set DATABASE_URL.",
    )


def _open_to_all(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)
