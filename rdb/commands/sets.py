"""Named sets of ranks."""

from __future__ import annotations

import re

from rdb.commands.quoting import word
from rdb.commands.registry import Group, command
from rdb.commands.values import RankSets
from rdb.errors import RdbError, Usage
from rdb.session.across import whose
from rdb.session.looking import Fields, Number
from rdb.session.overview import failing
from rdb.session.ranks import Rank, parse_ranks
from rdb.session.session import Session

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_RESERVED = ("all", "failed")


def ranks_of(session: Session, text: str) -> tuple[Rank, ...]:
    """The ranks that TEXT names, as for `focus`: numbers, `all`, `failed`, names of sets."""
    sets = dict(session.sets)
    if "failed" in re.findall(r"\w+", text):
        sets["failed"] = failing(session)
        if not sets["failed"]:
            raise Usage("no rank ended with a failure")
    return parse_ranks(text, session.ranks, sets)


@command("defset", group=Group.RANKS, usage="defset [NAME RANKS|EXPR]")
async def defset(session: Session, text: str = "") -> RankSets:
    """Give a set of ranks a name, for `focus NAME`; without arguments list the sets.

    RANKS is written as for `focus`. EXPR is a condition, such as `x > 3`: the set has the ranks in
    focus in which it is true where they stand now.
    """
    name, _, what = text.partition(" ")
    name = word(name)
    if not name:
        return RankSets(dict(sorted(session.sets.items())), len(session.ranks))
    if not _NAME.match(name) or name in _RESERVED:
        raise Usage(f"{name!r} cannot be the name of a set", "usage: defset NAME RANKS|EXPR")
    if not what.strip():
        raise Usage("defset needs ranks, or a condition", "usage: defset NAME RANKS|EXPR")
    chosen, variables = await _chosen(session, what.strip())
    session.set_sets({**session.sets, name: chosen}, text=f"defset {text}")
    return RankSets({name: chosen}, len(session.ranks), variables)


async def _chosen(session: Session, what: str) -> tuple[tuple[Rank, ...], dict[Rank, str]]:
    names, set_of = {*session.sets, *_RESERVED}, word(what)
    if all(item in names or item[0].isdigit() for item in re.split(r"[,\s{}]+", set_of) if item):
        try:
            return ranks_of(session, set_of), {}
        except Usage:
            if re.fullmatch(r"[\d,\s{}.-]+", set_of):
                raise
    found = await session.look(lambda gdb: gdb.number(what, condition=True))
    chosen = []
    answers: dict[Rank, Number | Fields] = {}
    for rank, answer in found.items():
        if isinstance(answer, RdbError):
            raise RdbError(f"rank {rank}: {answer.message}")
        if answer.value is None:
            raise RdbError(f"rank {rank}: {answer.text} is neither true nor false")
        if answer.value:
            chosen.append(rank)
        answers[rank] = answer
    return tuple(chosen), whose(answers)


@command("undefset", group=Group.RANKS, usage="undefset NAME")
async def undefset(session: Session, name: str) -> RankSets:
    """Forget a set of ranks."""
    name = word(name)
    if name not in session.sets:
        raise Usage(f"there is no set {name!r}", "`defset` lists them")
    rest = {one: ranks for one, ranks in session.sets.items() if one != name}
    session.set_sets(rest, text=f"undefset {name}")
    return RankSets(dict(sorted(rest.items())), len(session.ranks))
