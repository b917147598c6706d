"""Python tasks that run in a page, in a worker and on the server: one file, three places.

>>> import handlers
>>> handlers.names()
('allocate', 'echo', 'fail', 'grind', 'histogram', 'resize_image', 'sleep', 'spin', 'square')
>>> handlers.run("square", {"x": 7})
49.0
"""

from handlers import busy as _busy  # noqa: F401 - importing it registers its tasks
from handlers import errors
from handlers import failing as _failing  # noqa: F401 - the same
from handlers import histogram as _histogram  # noqa: F401 - the same
from handlers import memory as _memory  # noqa: F401 - the same
from handlers import plain as _plain  # noqa: F401 - the same
from handlers import resize as _resize  # noqa: F401 - the same
from handlers.progress import report_progress
from handlers.registry import names, run, task
from handlers.report import canonical_json
from handlers.signature import Range

__all__ = ["Range", "canonical_json", "errors", "names", "report_progress", "run", "task"]
