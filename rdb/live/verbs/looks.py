"""When a rank with a real device looked at the memory that the device writes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from rdb.recording.log.record import NEVER, Note, Record


@dataclass
class Looks:
    """Times and events of a rank's records, and of those that found data from a device."""

    at_ns: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    found_ns: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.at_ns.append(record.at_ns)
        self.events.append(record.event)
        if any(chunk.note == Note.DEVICE for chunk in record.chunks):
            self.found_ns.append(record.at_ns)
            self.found.append(record.event)

    def begun_after(self, at_ns: int) -> int:
        """The first event that began at AT_NS or later; NEVER: there is none."""
        place = bisect_left(self.at_ns, at_ns) + 1
        return self.events[place] if place < len(self.events) else NEVER

    def found_after(self, at_ns: int) -> int:
        place = bisect_left(self.found_ns, at_ns)
        return self.found[place] if place < len(self.found) else NEVER

    def found_behind(self, event: int) -> int:
        place = bisect_right(self.found, event)
        return self.found[place] if place < len(self.found) else NEVER

    def before(self, event: int) -> int:
        """The earliest time at which EVENT can have begun."""
        place = bisect_left(self.events, event)
        return self.at_ns[place - 1] if place else 0

    def ended(self, event: int) -> int:
        place = bisect_left(self.events, event + 1) - 1
        return self.at_ns[place]
