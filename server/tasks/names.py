"""The names of the tasks, without what runs them: a server need not import that to know them."""

from __future__ import annotations

FROM_HANDLERS = ("echo", "fail", "histogram", "resize_image", "sleep", "spin", "square")
"""Of those that a page runs too, the ones that a server may run for anybody."""

REPORT_PDF = "report_pdf"
WELCOME_EMAIL = "welcome_email"
NAMES = tuple(sorted((*FROM_HANDLERS, REPORT_PDF, WELCOME_EMAIL)))
