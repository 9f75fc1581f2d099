"""Ranks in `rdb info` whose recordings are on other hosts."""

from __future__ import annotations

from typing import Any

from rdb.cli.elsewhere import reached
from rdb.recording import Job
from rdb.recording.state import ProcessState


def look_elsewhere(job: Job, processes: list[dict[str, Any]], hosts_file: str | None) -> None:
    """Fills in, from their hosts, the states of ranks that run elsewhere, and adds ranks whose
    recordings are only there.
    """
    rows = [row for row in processes if ProcessState(row["state"]).elsewhere]
    missing = sorted(set(range(job.meta.get("nranks") or 0)) - {row["rank"] for row in processes})
    if job.packed or not job.meta.get("hosts"):
        # a pack has the ranks that were asked for; a job without hosts has all ranks here
        missing = []
    if not rows and not missing and hosts_file is None:
        return
    with reached(job, hosts_file) as elsewhere:
        known = elsewhere.processes() if elsewhere is not None else []
        apart = elsewhere.apart if elsewhere is not None else []
    states = {str(one["process"]): ProcessState(one["state"]) for one in known}
    for row in rows:
        row["state"] = states.get(row["process"], row["state"])
        row["programs"][-1]["state"] = row["state"]
    here = {row["process"] for row in processes}
    processes += [
        _row(one, apart)
        for one in known
        if one["host"] in apart and str(one["process"]) not in here
    ]
    found = {row["rank"] for row in processes}
    processes += [
        _row({"process": str(rank), "rank": rank, "state": "not known here"}, apart)
        for rank in missing
        if rank not in found
    ]
    processes.sort(key=lambda row: _order(str(row["process"])))


def _row(one: dict[str, Any], apart: list[str]) -> dict[str, Any]:
    """The row of a process that is not here, in the form of `process_row` (rdb/cli/rows.py)."""
    name = str(one["process"])
    there = one.get("host") in apart
    program = {
        "rank": one["rank"],
        "name": name,
        "program": None,
        "argv": one.get("argv", []),
        "state": f"{one['state']}, on its host only" if there else one["state"],
        "events": one.get("event", -1) + 1,
        "checkpoints": one.get("checkpoints", 0),
        "first_event": 0,
        "images": [],
        "pid": one.get("pid"),
        "host": one.get("host"),
        "damage": None,
        "cautions": [],
    }
    return {"process": name, **program, "programs": [program]}


def _order(name: str) -> list[int]:
    return [int(word) for word in name.split(".") if word.isdigit()]
