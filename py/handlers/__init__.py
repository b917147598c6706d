"""Python tasks that run in a page, in a worker and on the server: one file, three places.

>>> import handlers
>>> handlers.names()
('histogram',)
"""

from handlers import errors
from handlers import histogram as _histogram  # noqa: F401 - importing it registers the task
from handlers.registry import names, run, task
from handlers.report import canonical_json

__all__ = ["canonical_json", "errors", "names", "run", "task"]
