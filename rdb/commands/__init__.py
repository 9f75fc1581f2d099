"""The registry of commands, filled."""

from rdb.commands import look, meta, ranks, search, time
from rdb.commands.registry import REGISTRY, Command, Group, Need

__all__ = ["REGISTRY", "Command", "Group", "Need", "look", "meta", "ranks", "search", "time"]
