"""The message that wrote the memory an expression reads, and the statement that sent it.

One event may complete several receives (`MPI_Waitall`), so the message is found by address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rdb.recording import Job
from rdb.recording.messages.messages import Came, Messages
from rdb.session.debugger import RankDebugger
from rdb.session.ranks import Rank
from rdb.session.state import Place


@dataclass(frozen=True)
class Sender:
    """The rank, event and statement that sent a message."""

    rank: Rank
    event: int
    function: str | None
    file: str | None
    line: int | None

    def __str__(self) -> str:
        return f"rank {self.rank}, event {self.event}, {Place(self.function, self.file, self.line)}"


def writing_message(
    messages: Messages, rank: Rank, event: int, operands: Sequence[tuple[int, int]]
) -> Came | None:
    """The message of EVENT that wrote one of OPERANDS, (address, length) each; None: none did."""
    found = (messages.came(rank, event, address, size) for address, size in operands)
    return next((came for came in found if came is not None), None)


async def sender(job: Job, messages: Messages, rank: Rank, came: Came) -> Sender:
    """The statement that sent the message CAME to RANK.  Raises RdbError if it is not known."""
    send = messages.sent(rank, came)
    debugger = await RankDebugger.open(
        str(job.path), send.rank, at_end=False, address=job.address(send.rank)
    )
    try:
        await debugger.run(f"goto {send.event}")
        place = await debugger.own_place()
    finally:
        await debugger.close()
    return Sender(send.rank, send.event, place.function, place.file, place.line)
