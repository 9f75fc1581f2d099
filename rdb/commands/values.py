"""What the handlers of commands return: data, which a face then shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rdb.commands.registry import Command, Group
from rdb.errors import RdbError
from rdb.recording.messages.lanes import RankTimes, Span
from rdb.recording.messages.queues import Queues
from rdb.recording.verbs.objects import Verbs
from rdb.session.across import Stats
from rdb.session.causal_order import CausalOrder
from rdb.session.history import Entry
from rdb.session.overview import RankRow
from rdb.session.ranks import Rank
from rdb.session.session import Outcome
from rdb.session.stacks import StackNode
from rdb.session.state import RankState


class Focus(NamedTuple):
    """The ranks that commands go to."""

    ranks: tuple[Rank, ...]
    job_ranks: int
    failed: Mapping[Rank, str]


class Printed(NamedTuple):
    """A value in each rank; ranks with equal values are alike, whatever their `$N`."""

    outcome: Outcome


class VerbsShown(NamedTuple):
    """Verbs objects of each rank where it stands."""

    ranks: Mapping[Rank, Verbs]


class Bisected(NamedTuple):
    """The outcome of a bisection in several ranks, and the causal order of its results."""

    outcome: Outcome
    found: Collection[Rank]
    order: CausalOrder


class MessagesShown(NamedTuple):
    """The message queues of some ranks."""

    queues: Sequence[Queues]


@dataclass(frozen=True)
class Stacks:
    """The merged backtraces; FAILED: the reason for each rank without one."""

    roots: Sequence[StackNode]
    failed: Mapping[Rank, str] = field(default_factory=dict)


class Ranks(NamedTuple):
    """The ranks of the job; EACH: one line for each rank."""

    rows: Sequence[RankRow]
    each: bool = False


class Followed(NamedTuple):
    """States of ranks whose recordings were read again; ERRORS: ranks that could not be read."""

    states: Mapping[Rank, RankState]
    errors: Mapping[Rank, str]


class Live(NamedTuple):
    """The new state, or the error, of the process of each rank."""

    ranks: Mapping[Rank, str | RdbError]


class Timeline(NamedTuple):
    """Ranks over the recorded time, or a part of it, and the event at which each stands."""

    times: Mapping[Rank, RankTimes]
    span: Span
    events: Mapping[Rank, int]
    problems: Mapping[Rank, str]


@dataclass(frozen=True)
class RankSets:
    """Sets of ranks, by name.

    VARIABLES, here and below: the variables that an expression used in a rank, unless they are
    simply those of the rank's frame.
    """

    sets: Mapping[str, tuple[Rank, ...]]
    job_ranks: int
    variables: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """Statistics of a number over ranks; OTHERS: the reason for each rank without a number."""

    expression: str
    stats: Stats
    numbers: Mapping[Rank, float]
    others: Mapping[Rank, str]
    variables: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """A number over ranks, to draw."""

    expression: str
    numbers: Mapping[Rank, float]
    others: Mapping[Rank, str]
    variables: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A value in two ranks: the members that differ, and the number of members compared."""

    expression: str
    ranks: tuple[Rank, Rank]
    rows: Sequence[tuple[str, str | None, str | None]]
    members: int
    variables: Mapping[Rank, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """Members that were not compared, and why."""


class History(NamedTuple):
    """The command log."""

    done: Sequence[Entry]
    undone: Sequence[Entry]


class Saved(NamedTuple):
    """The file that the command log was written to."""

    path: str
    commands: int


class Script(NamedTuple):
    """Lines of a file, to run as if typed."""

    path: str
    lines: Sequence[str]


class ShellLine(NamedTuple):
    """A shell command, to run where answers are shown."""

    line: str


class JobInfo(NamedTuple):
    """A job's main facts."""

    name: str
    path: str
    facts: Mapping[str, str]


class HelpIndex(NamedTuple):
    """All commands, by chapter, and the extension's own."""

    groups: Mapping[Group, Sequence[Command]]


class HelpPage(NamedTuple):
    """One command."""

    command: Command


@dataclass(frozen=True)
class Leave:
    """The user leaves the session."""
