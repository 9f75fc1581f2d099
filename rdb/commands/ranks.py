"""Commands about the ranks of the job."""

from __future__ import annotations

from datetime import datetime

from rdb.commands.quoting import word
from rdb.commands.registry import Group, Need, command
from rdb.commands.sets import ranks_of
from rdb.commands.values import Focus, JobInfo, Ranks, Stacks
from rdb.errors import RdbError, Usage
from rdb.session.looking import Looking
from rdb.session.overview import overview
from rdb.session.ranks import format_ranks
from rdb.session.session import Outcome, Session
from rdb.session.stacks import merge_stacks


@command("focus", group=Group.RANKS, usage="focus [RANKS]")
async def focus(session: Session, ranks: str = "") -> Focus:
    """Choose the ranks that commands go to.

    RANKS is `0,2-3`, `{0..3}`, `all`, `failed` (the ranks that ended by a signal or with an exit
    code other than 0) or a name that `defset` gave. Without RANKS it lists the ranks in focus. A
    rank stands at the end of the recording when it first comes into focus. The GDBs of up to four
    ranks start at once. With more ranks a GDB starts when a command needs it; `where`, `ranks`,
    `print`, `plot`, `diff` and `defset` need none.
    """
    if ranks:
        await session.set_focus(ranks_of(session, word(ranks)), text=f"focus {ranks}")
    return Focus(session.focus, len(session.ranks), dict(session.failed))


@command("ranks", group=Group.RANKS, usage="ranks [--each]")
async def ranks(session: Session, option: str = "") -> Ranks:
    """Show all ranks: how they ended, their events, where they stand now.

    With more than 16 ranks, ranks that are alike share a line, unless `--each` is given.
    """
    if option not in ("", "--each"):
        raise Usage(f"ranks does not take {option!r}", "usage: ranks [--each]")
    await session.look(_nothing, session.ranks)
    return Ranks(overview(session), each=bool(option))


async def _nothing(gdb: Looking) -> None:
    """Does nothing: `look` has brought the rank to its place, so its state is known."""


@command("where", group=Group.RANKS, usage="where [COUNT]", needs=Need.STOPPED)
async def where(session: Session, count: int = 0) -> Stacks:
    """Show the backtraces of the ranks in focus as one tree.

    Frames that ranks share are shown once, from the outermost inwards; COUNT limits each backtrace
    to its innermost COUNT frames. `bt` in one rank shows GDB's own backtrace with arguments.
    """
    return await _stacks(session, count)


async def _stacks(session: Session, count: int) -> Stacks:
    found = await session.look(lambda gdb: gdb.frames(count or None))
    stacks = {rank: one for rank, one in found.items() if not isinstance(one, RdbError)}
    failed = {rank: one.message for rank, one in found.items() if isinstance(one, RdbError)}
    return Stacks(merge_stacks(stacks), failed)


@command("bt", group=Group.RANKS, usage="bt [COUNT]", aliases=("backtrace",), needs=Need.STOPPED)
async def bt(session: Session, arguments: str = "") -> Stacks | Outcome:
    """Show the backtrace of the rank in focus; for several ranks the tree that `where` shows.

    With other arguments than a count it runs GDB's own `bt` in each rank: `bt full`, `bt -3`.
    """
    if len(session.focus) > 1 and (not arguments or (arguments.isdigit() and int(arguments))):
        return await _stacks(session, int(arguments or 0))
    return await session.run(f"bt {arguments}".strip())


@command("info job", group=Group.RANKS)
async def info_job(session: Session) -> JobInfo:
    """Show what was recorded: the program, its arguments, when, how many ranks."""
    job = session.job
    meta = job.meta
    facts = {
        "program": " ".join(str(word) for word in meta.get("argv", [])),
        "directory": str(meta.get("cwd", "")),
        "launcher": str(meta.get("launcher", "none")),
        "ranks": f"{len(session.ranks)} ({format_ranks(session.ranks)})",
    }
    created = meta.get("created_ns")
    if isinstance(created, int):
        facts["recorded"] = datetime.fromtimestamp(created / 1e9).isoformat(" ", "seconds")
    return JobInfo(job.name, str(job.path), {name: text for name, text in facts.items() if text})
