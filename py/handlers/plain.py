"""The smallest tasks: for a first try, and for what a task costs by itself."""

from handlers.registry import task


@task("square")
def square(*, x: float) -> float:
    """Give ``x`` times itself."""
    return x * x


@task("echo")
def echo(*, value: object = None) -> object:
    """Give ``value`` back."""
    return value
