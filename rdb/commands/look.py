"""Commands that look at the program and change nothing."""

from __future__ import annotations

import re

from rdb.commands.across import numbers_of
from rdb.commands.quoting import as_meant
from rdb.commands.registry import Group, Need, command
from rdb.commands.values import Printed, Summary, VerbsShown
from rdb.errors import RdbError, Usage
from rdb.session.across import stats
from rdb.session.debugger import RankAnswer
from rdb.session.lookers import Unwilling
from rdb.session.session import Outcome, Session

# Names that one GDB keeps: its value history and convenience variables (GDB manual, "Value
# History", "Convenience Variables"), but not registers.
_HISTORY = re.compile(
    r"\$(?!(?:[re]?[abcd]x|[re]?[sd]i|r\d+|[re]?[sbi]p|pc|fp|eflags|[xy]mm\d+)\b)"
)


@command(
    "print",
    group=Group.LOOK,
    usage="print[/FORMAT] [--stats] EXPR",
    aliases=("p", "inspect"),
    needs=Need.STOPPED,
)
async def print_(session: Session, expression: str = "") -> Printed | Summary:
    """Show the value of an expression in each rank in focus; equal values are shown once.

    `--stats` shows a number over the ranks: least, most (and in which ranks), mean and standard
    deviation. Values of many ranks whose GDBs have not started have no number of GDB's history
    (`$1`).
    """
    first, _, rest = expression.partition(" ")
    if first == "--stats":
        if not rest.strip():
            raise Usage("print --stats needs an expression", "usage: print --stats EXPR")
        numbers, others, variables = await numbers_of(session, rest.strip())
        return Summary(rest.strip(), stats(numbers), numbers, others, variables)
    separator = "" if expression.startswith("/") else " "
    text = f"print{separator}{expression}".strip()
    if session.many_waiting and expression and not _HISTORY.search(expression):
        format_, _, what = (
            expression.partition(" ") if expression[0] == "/" else ("", "", expression)
        )
        found = await session.look(lambda gdb: gdb.value(what, format_))
        if not any(isinstance(answer, Unwilling) for answer in found.values()):
            answers = {rank: _answer(answer) for rank, answer in found.items()}
            entry = session.log.add(text, answers, session.focus, session.focus)
            return Printed(Outcome(answers, entry))
    return Printed(await session.run(as_meant(text), text))


def _answer(found: str | RdbError) -> RankAnswer:
    if isinstance(found, RdbError):
        return RankAnswer("", found.message, None, None)
    return RankAnswer(found, None, None, None)


@command(
    "output",
    group=Group.LOOK,
    usage="output [--fd N|--all] [--since POS] [--raw]",
    needs=Need.STOPPED,
)
async def output(session: Session, options: str = "") -> Outcome:
    """Show what the ranks in focus had written up to where they stand, each line with its event.

    Replay writes nothing again: this is what was recorded. `goto EVENT` goes to where a line was
    written. It shows standard output and error; with `--fd N` that descriptor, with `--all` every
    one, with `--since` what was written after POS, with `--raw` the bytes alone.
    """
    return await session.run(f"output {options}".strip())


@command("verbs", group=Group.LOOK, needs=Need.STOPPED)
async def verbs(session: Session) -> VerbsShown:
    """Show the queue pairs of each rank in focus where it stands, and what is outstanding on them.

    The log says so up to there: if you go back, it shows what was posted and not completed then.
    """
    await session.open(session.focus)
    states = session.states
    return VerbsShown(
        {
            rank: session.job.rank(rank).verbs(states[rank].event)
            for rank in session.focus
            if rank in states
        }
    )
