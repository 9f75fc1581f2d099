"""Who wrote into my window?  RDMA writes past the credits, followed to who sent them.

Run by `make demo-verbs`.  Each claim of the demo is checked, and it fails if one does not hold.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from demos.story import RDB, attach, expect, line_of, rdb, rdb_output, record_until_it_fails, title

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "credits.c"
# Nothing of the first producer has any business in the second one's window.
INVARIANT = "windows[1].slot[0].producer != 1"


def main() -> int:
    subprocess.run(["make", "-s", "-C", str(HERE), "credits"], check=True)
    said = "Assertion `!slot[i].producer || slot[i].producer == window + 1' failed"
    job = record_until_it_fails(
        *(HERE / "credits", said, "-n", "3", "--hca", "soft", "--hash-every", "50"),
        still=_there_at_the_end,
    )

    title(f"When did `{INVARIANT}` first turn false, and who did it?")
    rdb("bisect", job, INVARIANT)
    found = json.loads(rdb_output("bisect", job, INVARIANT, "--json"))["found"]
    expect(len(found) == 1 and found[0]["rank"] == 0, "it is in the collector's memory")
    sender = found[0]["sender"]
    posted = line_of(SOURCE, "if (ibv_post_send")
    expect(
        (sender["rank"], sender["function"], sender["line"]) == (1, "write_to", posted),
        f"the first producer sent it at credits.c:{posted}",
    )

    title("Follow the value to its origin")
    told = attach(job, "focus 0", "origin windows[1].slot[0].producer", "where", "undo")
    made = line_of(SOURCE, "message->producer = rank")
    rows = [line.split() for line in told.splitlines() if re.match(r"[01]  .* credits\.c:", line)]
    expect([row[0] for row in rows] == ["0", "1", "1", "1"], "four steps, over two ranks")
    expect(f"make () at credits.c:{made}" in told, f"it was put there at credits.c:{made}")
    expect("MPI_Comm_rank(" in rows[-1][-2] + rows[-1][-1], "it is the number of the sender's rank")
    print(
        f"\nThe burst that credits.c:{posted} sent reached one slot too far: burst() cuts what"
        "\nwould go beyond the end of the window only if it is more than one message too long."
    )

    title("Each rank replayed alone, without MPI and without any network")
    replays = json.loads(rdb_output("replay", job, "--verify", "--json"))
    for one in replays:
        expect(one["ok"] and one["hashes"] > 0, f"rank {one['rank']} replays")
        print(f"rank {one['rank']}: {one['hashes']} hashes compared, memory {one['hash']}")

    title("Go on yourself")
    print(f"{RDB} attach {job}\n{RDB} rm {job}      when you are done")
    return 0


def _there_at_the_end(job: str) -> bool:
    """While the collector dies, the slot's owner may write over what does not belong there."""
    with tempfile.NamedTemporaryFile("w", suffix=".rdb") as script:
        script.write("focus 0\nprint windows[1].slot[0].producer\n")
        script.flush()
        return "$1 = 1\n" in rdb_output("attach", job, "-x", script.name)


if __name__ == "__main__":
    sys.exit(main())
