"""Commands that look and change nothing."""

from __future__ import annotations

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import Printed, VerbsShown
from rdb.session import Outcome, Session


@command(
    "print",
    group=Group.LOOK,
    usage="print[/FORMAT] EXPR",
    aliases=("p", "inspect"),
    needs=Need.STOPPED,
)
async def print_(session: Session, expression: str = "") -> Printed:
    """Show the value of an expression in each rank in focus; equal values are shown once."""
    separator = "" if expression.startswith("/") else " "
    text = f"print{separator}{expression}".strip()
    return Printed(await session.run(text))


@command(
    "output",
    group=Group.LOOK,
    usage="output [--fd N|--all] [--since POS] [--raw]",
    needs=Need.STOPPED,
)
async def output(session: Session, options: str = "") -> Outcome:
    """Show what the ranks in focus had written up to where they stand, each line with its event.

    Replay writes nothing again: this is what was recorded. `goto EVENT` goes to where a line was
    written. It is standard output and error, or the descriptor N, or every one; with `--since` what
    was written after POS, with `--raw` the bytes alone.
    """
    return await session.run(f"output {options}".strip())


@command("verbs", group=Group.LOOK, needs=Need.STOPPED)
async def verbs(session: Session) -> VerbsShown:
    """Show the queue pairs of each rank in focus where it stands, and what is outstanding on them.

    It is what the log says up to there: going back shows what was posted, and not completed, then.
    """
    states = session.states
    return VerbsShown(
        {
            rank: session.job.rank(rank).verbs(states[rank].event)
            for rank in session.focus
            if rank in states
        }
    )
