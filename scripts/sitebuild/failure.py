"""The one way in which the build says that it can't go on."""


class BuildError(Exception):
    """The site can't be built from these sources. The message is one line that says why."""
