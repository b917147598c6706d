"""Faults that a person at the terminal can act on."""


class WorkersError(Exception):
    """Something is wrong, said in a sentence, with a way round it where there is one."""

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint = hint
        self.exit_code = exit_code


class SettingsError(WorkersError):
    """A setting has a value that cannot be used."""


class DatabaseError(WorkersError):
    """The database cannot be reached or started."""


class RedisServerError(WorkersError):
    """The Redis or Valkey server cannot be reached or started."""


class AlreadyRunningError(WorkersError):
    """Another server runs on the same data folder."""


class PortInUseError(WorkersError):
    """Somebody else listens on the address."""
