"""Moving along a recording: seeking, going back, bisecting, finding the last write."""

from rdb.timeline.position import Position
from rdb.timeline.stopped import NoSuchPosition, Stopped
from rdb.timeline.timeline import Timeline

__all__ = ["NoSuchPosition", "Position", "Stopped", "Timeline"]
