"""Parses `--checkpoint-every`, `--keep` and `--log-budget` (as interposer/base/limit.h does) and
`--kept-budget`, which is a file in the job's directory for all its processes
(interposer/space/kept_budget.h).
"""

from __future__ import annotations

import os

from rdb.errors import Usage
from rdb.private import opener

# A replay of the whole job starts at the job's beginning.
_NEED_ALL = {
    "order": "--keep drops the beginning, which rdb expand needs",
    "lean": "--keep drops what other ranks' messages are made from",
}

_UNITS = {
    "--checkpoint-every": ("", "events", "KB", "MB", "GB", "s"),
    "--keep": ("", "checkpoints", "KB", "MB", "GB", "s"),
    "--log-budget": ("KB", "MB", "GB"),
    "--kept-budget": ("KB", "MB", "GB"),
}


def check_limit(option: str, text: str) -> str:
    """TEXT itself.  Usage: TEXT is no valid value; the error says what is."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzKMGB")
    unit = text[len(number) :]
    fits = number.isascii() and number.isdigit() and len(number) < 10
    if fits and unit in _UNITS[option] and int(number) > 0:
        return text
    if option == "--checkpoint-every":
        if text == "0":
            return text
        raise Usage(f"--checkpoint-every {text}: write 1000events, 64MB, 10s, or 0 for none")
    if option in ("--log-budget", "--kept-budget"):
        raise Usage(f"{option} {text}: write 500MB or 2GB")
    raise Usage(f"--keep {text}: write 4checkpoints, 500MB or 60s")


def check_record(record: str, keep: bool, chaos: bool) -> None:
    """Usage: --record=RECORD excludes an option."""
    if keep and record in _NEED_ALL:
        hint = "use only one of them, or --log-budget"
        raise Usage(f"--keep and --record={record}: {_NEED_ALL[record]}", hint)
    if chaos and record == "off":
        raise Usage("--chaos needs a recording, not --record=off")


_BYTES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def write_kept_budget(job: str, text: str) -> None:
    """Writes the job's kept-budget file, in bytes, unless another rank has done so."""
    check_limit("--kept-budget", text)
    count = int(text[:-2]) * _BYTES[text[-2:]]
    try:
        with open(os.path.join(job, "kept-budget"), "x", opener=opener) as file:
            file.write(f"{count}\n")
    except FileExistsError:
        pass
