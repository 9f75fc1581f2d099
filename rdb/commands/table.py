"""The whole table of commands: each of these modules enters its rows."""

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
from rdb.commands.registry import REGISTRY

__all__ = [
    "REGISTRY",
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
