"""The registry of commands, filled."""

from rdb.commands import known_names, look, meta, parallel, ranks, script, search, time
from rdb.commands.registry import REGISTRY, Command, Group, Need

__all__ = [
    "REGISTRY",
    "Command",
    "Group",
    "Need",
    "known_names",
    "look",
    "meta",
    "parallel",
    "ranks",
    "script",
    "search",
    "time",
]
