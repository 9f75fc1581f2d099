"""The state of a session between two commands: the rank's position and GDB's state."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import gdb

from .. import link
from . import displays, place, points, settings, threads


@dataclass(frozen=True)
class Snapshot:
    stop_point: int
    serial: int
    position: str
    event: int
    branch: int  # number of the branch; 0: in the recording
    thread: int | None  # the selected one, if there are several
    points: tuple[points.PointState, ...]
    displays: tuple[displays.Display, ...]
    settings: settings.Settings
    function: str | None  # function of the frame that GDB showed, perhaps around inlined frames

    @property
    def target(self) -> str:
        """The target of a seek to this state: the server's stop point; in another session the
        position."""
        return f"@{self.stop_point}" if self.stop_point >= 0 else self.position

    def __reduce__(self) -> Any:
        """Pickles without the stop point, which belongs to this session's server (away.py)."""
        kept = [getattr(self, one.name) for one in fields(self)]
        return Snapshot, (-1, -1, *kept[2:])

    def same_place(self, other: Snapshot) -> bool:
        if self.branch or other.branch:
            return self.serial == other.serial
        return self.position == other.position

    def same_frame(self, other: Snapshot) -> bool:
        """Is the same frame shown?  A step into an inlined call changes only the frame."""
        return self.thread != other.thread or self.function == other.function

    def same(self, other: Snapshot) -> bool:
        return (
            self.same_place(other)
            and self.points == other.points
            and self.displays == other.displays
            and self.settings == other.settings
            and self.same_frame(other)
        )


def take(without: int | None = None) -> Snapshot:
    answer = link.ask("state")
    place.libraries_are(answer)
    return Snapshot(
        stop_point=answer["stop_point"],
        serial=answer["serial"],
        position=answer["position"],
        event=answer["event"],
        branch=answer["branch_number"],
        thread=threads.number() if answer["threaded"] else None,
        points=points.current(without),
        displays=displays.current(),
        settings=settings.current(),
        function=place.function(),
    )


def restore(wanted: Snapshot) -> tuple[Snapshot, bool]:
    """Restores a state; prints what has changed, and the location if the rank has moved.

    Returns the new state, and whether anything was printed.
    """
    now = take()
    moved = not (now.same_place(wanted) and now.same_frame(wanted))
    moved = moved or place.other_inlined(wanted.function)
    said = settings.restore(wanted.settings)
    said += points.remove_others(wanted.points)
    if moved:
        place.seek(wanted.target)
        if wanted.thread is not None:
            threads.select(wanted.thread)
    said += points.put_back(wanted.points)
    displays.restore(wanted.displays)
    for line in said:
        gdb.write(f"{line}\n")
    if moved:
        place.select_within(wanted.function)
        place.show()
    return take(), moved or bool(said)
