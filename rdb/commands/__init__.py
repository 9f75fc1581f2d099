"""The registry of commands, filled."""

from rdb.commands import (
    across,
    known_names,
    live,
    look,
    meta,
    parallel,
    ranks,
    script,
    search,
    sets,
    time,
    timeline,
)
from rdb.commands.registry import REGISTRY, Command, Group, Need

__all__ = [
    "REGISTRY",
    "Command",
    "Group",
    "Need",
    "across",
    "known_names",
    "live",
    "look",
    "meta",
    "parallel",
    "ranks",
    "script",
    "search",
    "sets",
    "time",
    "timeline",
]
