"""The message that wrote what an expression reads, and the statement that sent it.

One event may complete several receives (`MPI_Waitall`), so the last message is not always the one
that made the difference: the addresses decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rdb.recording.messages import Came, Messages
from rdb.session.debugger import NotInMemory, RankDebugger
from rdb.session.ranks import Rank
from rdb.session.session import JobLike
from rdb.session.stacks import own_frame
from rdb.session.state import Place

# Names with their members and elements: a, a.b, p->q[i].r; not calls.
_TERM = re.compile(r"[A-Za-z_]\w*(?:\s*(?:\.|->)\s*\w+|\[[^\[\]]*\])*(?!\s*\()")


@dataclass(frozen=True)
class Sender:
    """Who sent a message: the rank, the event, the statement."""

    rank: Rank
    event: int
    function: str | None
    file: str | None
    line: int | None

    def __str__(self) -> str:
        return f"rank {self.rank}, event {self.event}, {Place(self.function, self.file, self.line)}"


async def writing_message(
    debugger: RankDebugger, messages: Messages, expression: str, event: int
) -> Came | None:
    """The message of EVENT that wrote an operand of EXPRESSION; the rank stands just before it."""
    frame = own_frame(await debugger.frames())
    if frame is not None:
        await debugger.gdb.execute(f"frame {frame.level}")
    for term in dict.fromkeys(_TERM.findall(expression)):
        try:
            memory = await debugger.memory_of(term)
        except NotInMemory:
            continue
        came = messages.came(debugger.rank, event, memory.address, memory.size)
        if came is not None:
            return came
    return None


async def sender(
    job: JobLike, messages: Messages, rank: Rank, came: Came, script: Path | None
) -> Sender:
    """The statement that sent what CAME to RANK.  RdbError: why it is not known."""
    send = messages.sent(rank, came)
    debugger = await RankDebugger.open(
        str(job.path), send.rank, at_end=False, script=script, address=job.address(send.rank)
    )
    try:
        await debugger.run(f"goto {send.event}")
        own = own_frame(await debugger.frames())
        place = debugger.state.place if own is None else own.place
    finally:
        await debugger.close()
    return Sender(send.rank, send.event, place.function, place.file, place.line)
