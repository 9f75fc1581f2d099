"""What handlers return: data, for whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Focus:
    """The ranks that commands go to."""

    ranks: tuple[Rank, ...]
    job_ranks: int
    failed: Mapping[Rank, str]


@dataclass(frozen=True)
class Printed:
    """A value in each rank; the value history number `$N` is no part of the comparison."""

    outcome: Outcome


@dataclass(frozen=True)
class VerbsShown:
    """Verbs objects of each rank where it stands."""

    ranks: Mapping[Rank, Verbs]


@dataclass(frozen=True)
class Bisected:
    """What a search of several ranks found, and in which of them it came first."""

    outcome: Outcome
    order: CausalOrder


@dataclass(frozen=True)
class MessagesShown:
    """The message queues of some ranks."""

    queues: Sequence[Queues]


@dataclass(frozen=True)
class Stacks:
    """The merged backtraces, and why some ranks have none."""

    roots: Sequence[StackNode]
    failed: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranks:
    """The ranks of the job; EACH: none share a line."""

    rows: Sequence[RankRow]
    each: bool = False


@dataclass(frozen=True)
class Followed:
    """Where ranks stand whose recordings were read anew, and why some could not be."""

    states: Mapping[Rank, RankState]
    errors: Mapping[Rank, str]


@dataclass(frozen=True)
class Live:
    """What became of the processes of some ranks."""

    ranks: Mapping[Rank, str | RdbError]


@dataclass(frozen=True)
class Timeline:
    """Ranks over the recorded time, or a part of it; the events at which they stand."""

    times: Mapping[Rank, RankTimes]
    span: Span
    events: Mapping[Rank, int]
    problems: Mapping[Rank, str]


@dataclass(frozen=True)
class RankSets:
    """Sets of ranks, by name.  VARIABLES, here and below: which ones an expression took in a rank,
    if they are not plainly those of where it stands."""

    sets: Mapping[str, tuple[Rank, ...]]
    job_ranks: int
    variables: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    """A number over ranks, in figures; OTHERS: where it is none, and why."""

    expression: str
    stats: Stats
    numbers: Mapping[Rank, float]
    others: Mapping[Rank, str]
    variables: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """A number over ranks, to be drawn."""

    expression: str
    numbers: Mapping[Rank, float]
    others: Mapping[Rank, str]
    variables: Mapping[Rank, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """A value in two ranks: the members that differ, of how many."""

    expression: str
    ranks: tuple[Rank, Rank]
    rows: Sequence[tuple[str, str | None, str | None]]
    members: int
    variables: Mapping[Rank, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """Members that were not compared, and why."""


@dataclass(frozen=True)
class History:
    """The command log."""

    done: Sequence[Entry]
    undone: Sequence[Entry]


@dataclass(frozen=True)
class Saved:
    """The command log as a file."""

    path: str
    commands: int


@dataclass(frozen=True)
class Script:
    """Lines of a file, to be run as if they were typed."""

    path: str
    lines: Sequence[str]


@dataclass(frozen=True)
class ShellLine:
    """A command of the shell, to be run where the answers are shown."""

    line: str


@dataclass(frozen=True)
class JobInfo:
    """A job at a glance."""

    name: str
    path: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class HelpIndex:
    """All commands, by chapter, and the extension's own."""

    groups: Mapping[Group, Sequence[Command]]


@dataclass(frozen=True)
class HelpPage:
    """One command."""

    command: Command


@dataclass(frozen=True)
class Leave:
    """The session is over."""
