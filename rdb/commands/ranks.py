"""Commands about the ranks of the job."""

from __future__ import annotations

from datetime import datetime

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import Focus, JobInfo, Stacks
from rdb.errors import Usage
from rdb.session import Session
from rdb.session.overview import RankRow, failing, overview
from rdb.session.ranks import format_ranks, parse_ranks
from rdb.session.stacks import merge_stacks


@command("focus", group=Group.RANKS, usage="focus [RANKS]")
async def focus(session: Session, ranks: str = "") -> Focus:
    """Choose the ranks that commands go to.

    RANKS is written like `0,2-3`, `{0..3}`, `all`, or `failed` for the ranks that ended by a
    signal or with an exit code other than 0. Without RANKS it says which are in focus. A rank's
    GDB is started when the rank first comes into focus; it stands at the end of the recording.
    """
    if ranks:
        if ranks == "failed":
            chosen = failing(session)
            if not chosen:
                raise Usage("no rank ended with a failure")
        else:
            chosen = parse_ranks(ranks, session.ranks)
        await session.set_focus(chosen, text=f"focus {ranks}")
    return Focus(session.focus, len(session.ranks), dict(session.failed))


@command("ranks", group=Group.RANKS)
async def ranks(session: Session) -> list[RankRow]:
    """Show all ranks: how they ended, their events, where they stand now."""
    return overview(session)


@command("where", group=Group.RANKS, usage="where [COUNT]", needs=Need.STOPPED)
async def where(session: Session, count: int = 0) -> Stacks:
    """Show the backtraces of the ranks in focus as one tree.

    Frames that ranks share are shown once, from the outermost inwards; COUNT limits each backtrace
    to its innermost COUNT frames. `bt` shows GDB's own backtrace with arguments.
    """
    return Stacks(merge_stacks(await session.stacks(count or None)))


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
