"""`--checkpoint-every`, `--keep` and `--log-budget`: as interposer/base/limit.h reads them;
`--kept-budget`, which all processes of a job find in its directory
(interposer/space/kept_budget.h)."""

from __future__ import annotations

import os

from rdb.errors import Usage
from rdb.private import opener

# a whole-job replay begins where the job began
ORDER_NEEDS_ALL = "--keep drops the beginning, and --record=order needs it"
ORDER_HINT = "use one of them, or --log-budget"

_UNITS = {
    "--checkpoint-every": ("", "events", "KB", "MB", "GB", "s"),
    "--keep": ("", "checkpoints", "KB", "MB", "GB", "s"),
    "--log-budget": ("KB", "MB", "GB"),
    "--kept-budget": ("KB", "MB", "GB"),
}


def check_limit(option: str, text: str) -> str:
    """The text itself, or a Usage error that says what is possible."""
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


_BYTES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def write_kept_budget(job: str, text: str) -> None:
    """For all processes of the job; another rank may have been faster."""
    check_limit("--kept-budget", text)
    count = int(text[:-2]) * _BYTES[text[-2:]]
    try:
        with open(os.path.join(job, "kept-budget"), "x", opener=opener) as file:
            file.write(f"{count}\n")
    except FileExistsError:
        pass
