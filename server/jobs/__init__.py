"""Named jobs and what wakes them: a cron line, an interval, a click, a call."""
