"""The main job: record a parallel program until it fails, then find out why, going backwards.

Run by `make demo`.  Everything here is done with the rdb command as a user would; each claim that
the demo makes is checked, and it fails if one does not hold.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RDB = Path(sys.executable).parent / "rdb"  # of the same environment
RANKS = 4
ATTEMPTS = 40
# Rows above a strip have smaller numbers than those below it.
INVARIANT = "above.row <= below.row"


def main() -> int:
    subprocess.run(["make", "-s", "-C", str(HERE), "heat"], check=True)
    job = record_until_it_fails()
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
    line = line_of("MPI_Waitall")
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


def record_until_it_fails() -> str:
    title(f"Recording ./heat on {RANKS} ranks until it fails (it does so in some runs only)")
    for attempt in range(1, ATTEMPTS + 1):
        command = ["run", "-n", str(RANKS), "--hash-every", "20", "--", str(HERE / "heat")]
        done = subprocess.run([RDB, *command], capture_output=True, text=True, check=False)
        named = re.search(r"recorded job (\S+)", done.stderr)
        if named is None:
            sys.stderr.write(done.stderr)
            raise SystemExit("demo: nothing was recorded")
        if done.returncode:
            print(f"$ rdb {shlex.join(command)}")
            sys.stdout.write(done.stderr)
            said = "Assertion `fabs(total - total_at_start) < 1e-9 * total_at_start' failed"
            expect(said in done.stderr, "the program died of its assertion")
            return named[1]
        print(f"run {attempt}: {done.stdout.strip()}")
        subprocess.run([RDB, "rm", named[1]], check=True, capture_output=True)
    raise SystemExit(f"demo: {ATTEMPTS} runs and none failed; try again")


def around_the_moment(job: str, rank: int, position: str) -> None:
    log = attach(
        job,
        f"focus {rank}",
        "tbreak exchange_material",
        f"goto {position}",
        "reverse-continue",
        "info breakpoints",
        f"advance {line_of('MPI_Waitall')}",
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


def attach(job: str, *commands: str) -> str:
    """A session of the console, from a script; what it printed."""
    with tempfile.NamedTemporaryFile("w", suffix=".rdb") as script:
        script.write("\n".join(commands) + "\n")
        script.flush()
        print(f"$ rdb attach {job} -x SCRIPT", flush=True)
        return shown(rdb_output("attach", job, "-x", script.name))


def rdb(*arguments: str) -> str:
    """Runs rdb and shows what it prints."""
    print(f"$ rdb {shlex.join(arguments)}", flush=True)
    return shown(rdb_output(*arguments))


def shown(text: str) -> str:
    sys.stdout.write(text)
    sys.stdout.flush()
    return text


def line_of(text: str) -> int:
    """The line of heat.c that has this text."""
    lines = (HERE / "heat.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def rdb_output(*arguments: str) -> str:
    done = subprocess.run([RDB, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    expect(done.returncode == 0, f"rdb {shlex.join(arguments)} ends well ({done.returncode})", done)
    return done.stdout


def expect(holds: bool, what: str, detail: Any = None) -> None:
    if not holds:
        if detail is not None:
            print(detail, file=sys.stderr)
        raise SystemExit(f"demo: this should hold but does not: {what}")


def title(text: str) -> None:
    print(f"\n== {text}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
