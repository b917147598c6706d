"""Make the six big pictures and print where they lie: ``python -m tests.corpus``."""

from tests.corpus import BIG, big

for name in BIG:
    path = big(name)
    print(f"{path.stat().st_size:>12,}  {path}")  # noqa: T201 - the command's answer
