"""The message that wrote what an expression reads.

One event may complete several receives (`MPI_Waitall`), so the last message is not always the one
that made the difference: the addresses decide.
"""

from __future__ import annotations

import re
from typing import Any

from rdb.session.debugger import RankDebugger
from rdb.session.session import RankLike
from rdb.session.stacks import own_frame

# Names with their members and elements: a, a.b, p->q[i].r; not calls.
_TERM = re.compile(r"[A-Za-z_]\w*(?:\s*(?:\.|->)\s*\w+|\[[^\[\]]*\])*(?!\s*\()")


async def writing_message(
    debugger: RankDebugger, recording: RankLike, expression: str, event: int
) -> Any | None:
    """The receive of EVENT that wrote an operand of EXPRESSION; the rank stands just before it."""
    frame = own_frame(await debugger.frames())
    if frame is not None:
        await debugger.gdb.execute(f"frame {frame.level}")
    for term in dict.fromkeys(_TERM.findall(expression)):
        # %lu takes any address; an operand that has none (a constant, a register) fails here.
        answer = await debugger.gdb.execute(
            f'printf "%lu %lu", (unsigned long) &({term}), (unsigned long) sizeof({term})'
        )
        words = answer.text.split()
        if not answer.ok or len(words) != 2:
            continue
        receive = recording.receive_into(event, int(words[0]), int(words[1]))
        if receive is not None:
            return receive
    return None
