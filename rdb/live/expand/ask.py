"""`python -m rdb.live.expand.ask FOLDER EVENT`: a replica needs a message.

Has it made by its sender, and those that the replica is going to need next.  Prints one line if
that is impossible (interposer/replay/ask.h).
"""

from __future__ import annotations

import sys
from pathlib import Path

from rdb.errors import RdbError
from rdb.live.expand.deliver import regenerate_some, said
from rdb.live.expand.made import Made
from rdb.live.expand.senders import Senders
from rdb.recording import open_job

_MOST_BYTES = 256 << 20  # at a time


def main(folder: str, event: int) -> int:
    """0, or 1: the message cannot be made."""
    path = Path(folder)
    try:
        above = [one for one in path.parents if (one / "job.json").exists()]
        if not above:
            raise RdbError(f"{folder} is in no job")
        job = open_job(str(above[0]))
        rank = next((rank for rank in job.ranks if job.rank(rank).path == path), None)
        if rank is None:
            raise RdbError(f"{folder} is no rank of {job.name}")
        why = regenerate_some(job, rank, event, _MOST_BYTES)
        made = Made(path)
        missing = [
            one
            for one in Senders(job).payloads(rank).received
            if one.event == event and not made.has(one.offset)
        ]
    except (RdbError, OSError) as error:
        print(error.message if isinstance(error, RdbError) else error)
        return 1
    if not missing:
        return 0
    print(said(job, why) if why else "a large message could not be regenerated")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
