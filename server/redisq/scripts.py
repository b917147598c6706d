"""The queue's Lua scripts: sent by their sum, and sent whole to a server that forgot them."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.exceptions import NoScriptError

if TYPE_CHECKING:
    from collections.abc import Sequence

Client = Redis | RedisCluster
"""What speaks to the server, or to the node that has the queue."""

FOLDER = Path(__file__).parent / "lua"
INCLUDE = re.compile(r"^-- include (\S+)$", re.MULTILINE)


class Script:
    """One script, with what it includes put in."""

    def __init__(self, name: str) -> None:
        text = (FOLDER / f"{name}.lua").read_text("utf-8")
        self.text = INCLUDE.sub(lambda found: (FOLDER / found[1]).read_text("utf-8"), text)
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    async def run(self, client: Client, base: str, arguments: Sequence[Any]) -> Any:
        """Run it on the queue with that base key and return the server's answer.

        Raises redis.exceptions.RedisError when the server cannot be reached, or refuses.
        """
        try:
            return await client.evalsha(self.sha, *keys(base), *arguments)
        except NoScriptError:
            return await client.eval(self.text, *keys(base), *arguments)


def keys(base: str) -> tuple[int, str, str]:
    """Return what every script is told of its keys; lua/shared/queue.lua says why there are two."""
    return 2, base, f"{base}:meta"


@cache
def script(name: str) -> Script:
    """Return the script of that name, such as `turn` of lua/turn.lua."""
    return Script(name)
