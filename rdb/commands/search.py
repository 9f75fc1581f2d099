"""Commands that search the recording.  The GDB extension does the work in each rank."""

from __future__ import annotations

import re

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import Bisected
from rdb.recording.messages.messages import Messages
from rdb.session.causal_order import causal_order
from rdb.session.debugger import RankAnswer
from rdb.session.origin import Origin, origin
from rdb.session.session import Outcome, Session

_BY_EVENT = re.compile(r"^(?:Changed by|By) event (\d+):", re.MULTILINE)


@command(
    "find-event",
    group=Group.SEARCH,
    usage="find-event QUERY [--next|--prev|--all|--count] [--limit N]",
    needs=Need.STOPPED,
)
async def find_event(session: Session, query: str) -> Outcome:
    """Go to the next event for which a query is true, in each rank in focus.

    A query is a name, a condition, or both: `mpi.recv source==3`, `read fd==3 and result<0`,
    `receive source==3 and bytes>1000`, `openat 'passwd' in path`. Names are system calls (`read`),
    MPI and verbs functions (`mpi.recv`, `verbs.post_send`), `mpi`, `verbs`, `syscall`, `signal`,
    `SIGUSR1`, `tsc`; `receive` and `send` are true of any event that received or posted a message
    of MPI. A verbs request that was posted has `operation` (`RDMA_WRITE`), `wr_id` and `bytes`, a
    completion `status` (`WR_FLUSH_ERR`), `wr_id`, `qp_num` and `bytes`. Fields are `kind`, `name`,
    `rank`, `thread`, `event`, `result`, `errno`, `time` (seconds from the start), `fd`, `path`,
    `bytes`, `source`, `dest`, `tag`, `arg0` to `arg5` and the parameters of MPI and verbs
    functions; what a call returns by a pointer (`flag`, `outcount`) is the number that it returned.
    A comparison with a field that an event does not have is false; a value that the
    field never has is an error. Errors, signals and calls go by each of their names: `errno==2`,
    `result==-ENOENT`, `signal==USR1`, `name=='MPI_Recv'`, `op==MPI_SUM`. `&&`, `||`, `!` are `and`,
    `or`, `not`. Quotes around all of it mean what they mean in a shell.

    A query may have expressions of the program's, and predicates over its arrays (docs/answers.md):
    `mpi.send and step > 3`, `!allfinite(u)`, `mpi.recv and max(abs(u)) >= 1e6`. rdb goes to each
    event for which the rest of the query is true, and asks the program there. So name the events
    if there are many. The answer names the element.

    `--prev` looks backwards. `--all` lists the events and `--count` counts them; both do not move
    the ranks. `rdb find-event JOB QUERY` lists the events of all ranks; there `--next` finds the
    first event of each rank, `--prev` the last.
    """
    return await session.run(f"find-event {query}")


@command("first", group=Group.SEARCH, usage="first EXPR", needs=Need.STOPPED)
async def first(session: Session, expression: str) -> Outcome:
    """Go to the first write of EXPR in the recording, in each rank in focus.

    For a local variable it searches the life of its frame. `last` goes to the last write before
    here.
    """
    return await session.run(f"first {expression}")


@command(
    "changes",
    group=Group.SEARCH,
    usage="changes EXPR [--from POS] [--to POS] [--limit N]",
    needs=Need.STOPPED,
)
async def changes(session: Session, expression: str) -> Outcome:
    """List every change of EXPR: position, values before and after, line or event that wrote it.

    The whole recording is searched, for a local variable the life of its frame. `goto` takes the
    positions. At most N changes (200) are listed. All processors search, or `--jobs N`. Ctrl-C
    lists what was found by then.
    """
    return await session.run(f"changes {expression}")


@command(
    "calls",
    group=Group.SEARCH,
    usage="calls FUNCTION [--from POS] [--to POS] [--limit N] [--jobs N]",
    needs=Need.STOPPED,
)
async def calls(session: Session, function: str) -> Outcome:
    """List the calls of FUNCTION: position, arguments, result, where it was called from.

    The whole recording is searched; `goto` takes the positions. At most N calls (200) are listed.
    All processors search, or `--jobs N`, if arguments and result are at fixed places and there is
    one thread; with `--to` it goes call by call. Ctrl-C lists what was found by then.
    """
    return await session.run(f"calls {function}")


@command("last", group=Group.SEARCH, usage="last [EXPR] [--stores]", needs=Need.STOPPED)
async def last(session: Session, expression: str = "") -> Outcome:
    """Go to the last write of EXPR before here, in each rank in focus.

    Without EXPR it repeats: the write before that one. If a receive or another event wrote it, the
    event is named. A write of the value that was there already counts only with `--stores`.
    """
    return await session.run(f"last {expression}".strip())


@command("origin", group=Group.SEARCH, usage="origin EXPR", needs=Need.STOPPED)
async def origin_command(session: Session, expression: str) -> Origin:
    """Follow a value back, through messages, to the rank and statement that made it.

    From the one rank in focus: `last EXPR` finds what wrote it. If that was a receive, the search
    goes on in the rank that sent the message, with the bytes that it sent; if it was copied from
    other memory, with that; if a function returned it, inside of that function. So it goes until
    the value was computed, or another event gave it. The focus goes to the rank where it ends,
    which stands just before that statement; `undo` takes all of it back.
    """
    return await origin(session, expression)


@command(
    "bisect",
    group=Group.SEARCH,
    usage="bisect EXPR [--last] [--from POS] [--to POS] [--depth DEPTH] [--all-ranks] [--jobs N]",
    needs=Need.STOPPED,
)
async def bisect(session: Session, expression: str) -> Outcome | Bisected:
    """Find the statement that first made EXPR false, in each rank in focus, and go there.

    EXPR is a condition that is true at the start and false at the end of the recording, or of the
    events in POS..POS. The answer was verified: true just before, false just after. If EXPR changed
    several times, halving the events finds one change, and looking at each event before that, for
    some seconds, the first; with `--last` it finds a late change, the last between two events.
    DEPTH is `instruction` (just before the instruction that made it false), `statement` (the
    beginning of that statement) or `event` (the event before). Names mean the variables of the
    innermost function of the program's own that has them; the answer names that function.
    `FUNCTION::VARIABLE` names a local. `allfinite(a)`, `all(a > 0)`, `max(abs(u)) < 1e6` and their
    like (docs/answers.md) ask about all elements of an array, and name the bad one. A constant is
    an error; quotes around all of EXPR mean what they mean in a shell. `--all-ranks` puts all ranks
    into focus first. With several ranks it names the rank in which EXPR turned false first in
    causal order: what a rank got in messages and collectives comes after where it was made. Other
    processors run ahead to where the search may look next, `--jobs N` in each rank (all; 1: none).
    Ctrl-C ends the search with what is known by then.
    """
    words = [word for word in expression.split(" ") if word != "--all-ranks"]
    if len(words) < len(expression.split(" ")):
        await session.set_focus(session.ranks, text="focus all")
    outcome = await session.run(f"bisect {' '.join(words)}")
    found = {rank: place for rank, one in outcome.answers.items() if (place := _place(one))}
    if len(found) < 2:
        return outcome
    events = {rank: event for rank, (event, _) in found.items()}
    brought = [rank for rank, (_, by_event) in found.items() if by_event]
    return Bisected(outcome, found, causal_order(Messages(session.job), events, brought))


def _place(answer: RankAnswer) -> tuple[int, bool] | None:
    """The event after whose answer the expression was false in a rank, and whether the event made
    it so; None: nothing found.
    """
    if not answer.ok or answer.after is None or " turned false in rank " not in answer.text:
        return None
    by = _BY_EVENT.search(answer.text)
    return (int(by[1]), True) if by else (answer.after.event, False)
