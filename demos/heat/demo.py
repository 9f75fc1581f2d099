"""The main job: record a parallel program until it fails, then find out why, going backwards.

Run by `make demo`.  Everything here is done with the rdb command as a user would; each claim that
the demo makes is checked, and it fails if one does not hold.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from demos.story import RDB, attach, expect, line_of, rdb, rdb_output, record_until_it_fails, title

HERE = Path(__file__).resolve().parent
RANKS = 4
# Rows above a strip have smaller numbers than those below it.
INVARIANT = "above.row <= below.row"


def main() -> int:
    subprocess.run(["make", "-s", "-C", str(HERE), "heat"], check=True)
    said = "Assertion `fabs(total - total_at_start) < 1e-9 * total_at_start' failed"
    job = record_until_it_fails(HERE / "heat", said, "-n", str(RANKS), "--hash-every", "20")
    title("The ranks of the failed run, as they died")
    died = attach(job, "ranks", "focus failed", "where")
    expect("main () at heat.c" in died, "the failed ranks stand below main")

    title(f"When, where and in which rank did `{INVARIANT}` first turn false?")
    rdb("bisect", job, INVARIANT)
    found = json.loads(rdb_output("bisect", job, INVARIANT, "--json"))["found"]
    expect(bool(found), "the bisection has an answer")
    culprit = found[0]
    rank, position = int(culprit["rank"]), str(culprit["position"])
    expect("MPI_Waitall" in culprit["written_by"], "it was a message that did it")
    line = line_of(HERE / "heat.c", "MPI_Waitall")
    expect(
        str(culprit["file"]).endswith("heat.c") and culprit["line"] == line,
        f"the statement is heat.c:{line}",
    )
    message = culprit["receive"]
    expect(message["source"] == rank + 1, "the message that wrote it came from below")
    print(
        f"\nIt is heat.c:{line} in rank {rank}, where two receives from MPI_ANY_SOURCE complete."
        "\nThe first of them is meant for the row above the strip of that rank."
        f"\nIn this run the message of rank {rank + 1}, which is below, came first: the two"
        " rows are swapped."
    )

    title(f"Rank {rank}, around that moment: forwards, backwards, undo")
    around_the_moment(job, rank, position)

    title("Ten replays of each rank, alone and without MPI: the same memory each time")
    replays = json.loads(rdb_output("replay", job, "--verify", "--times", "10", "--json"))
    for one in range(RANKS):
        mine = [result for result in replays if result["rank"] == one]
        hashes = {result["hash"] for result in mine}
        expect(len(mine) == 10 and all(result["ok"] for result in mine), f"rank {one} replays")
        expect(len(hashes) == 1, f"rank {one}: one hash in ten replays")
        checked = sum(result["hashes"] for result in mine)
        expect(checked > 0, f"rank {one}: hashes were recorded")
        print(f"rank {one}: 10 replays, {checked} hashes compared, memory {hashes.pop()}")

    title("Go on yourself")
    print(f"{RDB} attach {job}\n{RDB} rm {job}      when you are done")
    return 0


def around_the_moment(job: str, rank: int, position: str) -> None:
    log = attach(
        job,
        f"focus {rank}",
        "tbreak exchange_material",
        f"goto {position}",
        "reverse-continue",
        "info breakpoints",
        f"advance {line_of(HERE / 'heat.c', 'MPI_Waitall')}",
        "print above.row",
        "next",
        "print above.row",
        "reverse-next",
        "print above.row",
        "undo",
        "print above.row",
        "undo 2",
        "print above.row",
        "history",
    )
    rows = re.findall(r"\$\d+ = (\d+)", log)
    expect(len(rows) == 5, "five rows were printed")
    right, wrong, back, undone, further = rows
    expect(
        right == back == further and wrong == undone and int(wrong) > int(right),
        "undo and reverse-next lead to the same states",
    )


if __name__ == "__main__":
    sys.exit(main())
