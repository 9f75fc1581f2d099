"""`--checkpoint-every`, `--keep` and `--log-budget`: as interposer/process/limit.h reads them."""

from __future__ import annotations

from rdb.errors import Usage

# a whole-job replay begins where the job began
ORDER_NEEDS_ALL = "--keep drops the beginning, and --record=order needs it"
ORDER_HINT = "use one of them, or --log-budget"

_UNITS = {
    "--checkpoint-every": ("", "events", "KB", "MB", "GB", "s"),
    "--keep": ("", "checkpoints", "KB", "MB", "GB", "s"),
    "--log-budget": ("KB", "MB", "GB"),
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
    if option == "--log-budget":
        raise Usage(f"--log-budget {text}: write 500MB or 2GB")
    raise Usage(f"--keep {text}: write 4checkpoints, 500MB or 60s")
