"""Errors that a user may see: a line that says what is wrong, a hint what to do, an exit code."""

from __future__ import annotations


class RdbError(Exception):
    """An operation that failed.  Shown as `rdb: MESSAGE; HINT`, never as a traceback."""

    exit_code = 1
    hint: str | None = None

    def __init__(self, message: str, hint: str | None = None, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if hint is not None:
            self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def line(self) -> str:
        """The one line that a user sees."""
        text = f"rdb: {self.message}"
        return f"{text}; {self.hint}" if self.hint else text


class Usage(RdbError):
    """The arguments of rdb or of a command make no sense."""

    exit_code = 2


class VersionMismatch(RdbError):
    """A recording, a protocol or a table has another version."""

    exit_code = 3


class UnknownJob(RdbError):
    """No such job, rank or position."""

    exit_code = 4
    hint = "`rdb ls` shows what there is"


class NotYours(RdbError):
    """Another user made the recording, or could have changed it."""

    exit_code = 4


class DamagedRecording(RdbError):
    """A log or an image differs from what was written."""

    exit_code = 5


class Diverged(RdbError):
    """A replay did something else than the recording."""

    exit_code = 5


class MissingTool(RdbError):
    """A program that rdb needs is not installed."""

    exit_code = 6


class Unsupported(RdbError):
    """rdb itself cannot go on: a kernel feature, an unknown call, a full disk."""

    exit_code = 125


class CannotExecute(RdbError):
    """The program exists but cannot be run (permission, another architecture)."""

    exit_code = 126


class ProgramNotFound(RdbError):
    """There is no such program."""

    exit_code = 127


class system_errors:
    """Raises a failed system call (OSError) of the block as an RdbError.

    A class: contextlib costs every rank 2 ms.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            raise RdbError(f"{where}{error.strerror or error}") from error
