"""How a rank's process stands or has ended, as a text with a meaning."""

from __future__ import annotations

from rdb.errors import RdbError

_ELSEWHERE = "open on "


class ProcessState(str):
    """`running`, `paused`, `exited 3`, `signal 11`, `killed`, `became PROG`, `damaged`, ...

    `open on HOST` for a rank of another host without an end: its process cannot be seen here.
    """

    __slots__ = ()

    @classmethod
    def on(cls, host: str) -> ProcessState:
        return cls(_ELSEWHERE + host)

    @property
    def lives(self) -> bool:
        """Whether its process is there, on this host."""
        return self in (RUNNING, PAUSED)

    @property
    def elsewhere(self) -> bool:
        return self.startswith(_ELSEWHERE)

    @property
    def exited(self) -> bool:
        return self.startswith("exited ")

    @property
    def became(self) -> bool:
        """Whether the process runs another program now."""
        return self.startswith("became ")

    @property
    def failed(self) -> bool:
        """Whether it ended otherwise than with exit code 0."""
        return not (self.lives or self.elsewhere or self == "exited 0")


RUNNING, PAUSED = ProcessState("running"), ProcessState("paused")
KILLED, DAMAGED = ProcessState("killed"), ProcessState("damaged")


def still_runs(name: object, job: str) -> RdbError:
    return RdbError(f"rank {name} of {job} still runs", "end the job first")
