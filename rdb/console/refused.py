"""Commands of GDB that would end its view of the recording, or take the console's terminal."""

from __future__ import annotations

from rdb.errors import Usage

_LEAVE = "`quit` leaves the console, `run` goes to the start"
_OTHER = "another job: `rdb attach JOB` in a shell"
_CORE = "`rdb pack JOB` makes one file to carry away"
_PROCESS = "`info proc mappings` lists the memory, `rdb info JOB` the processes"

# Name, length of the shortest form that GDB takes, why not, what to do instead.
_REFUSED = (
    ("kill", 1, "would end GDB's connection to the rank", _LEAVE),
    ("detach", 3, "would end GDB's connection to the rank", _LEAVE),
    ("disconnect", 4, "would end GDB's connection to the rank", _LEAVE),
    ("attach", 2, "would leave this recording", _OTHER),
    ("target", 3, "would leave this recording", _OTHER),
    ("record", 3, "is for live programs: this is a recording", "reverse commands work without it"),
    ("edit", 2, "has no terminal here", "use `shell EDITOR FILE`"),
    ("generate-core-file", 3, "cannot make a core file of a recording", _CORE),
    ("gcore", 2, "cannot make a core file of a recording", _CORE),
)

# Events that GDB can catch only in a process of its own.
_CAUGHT = {
    "syscall": "`find-event NAME` goes to the next call, --prev to the one before",
    "fork": "`find-event fork`",
    "vfork": "`find-event vfork`",
    "exec": "`find-event execve`",
}


def _begins(word: str, name: str) -> bool:
    return bool(word) and name.startswith(word)


def refuse(line: str) -> None:
    """Raises Usage if LINE is one of these commands."""
    word, what, part = [*line.split(), "", "", ""][:3]
    if word in ("cat", "catc", "catch", "tcatch"):
        for name, instead in _CAUGHT.items():
            if what and name.startswith(what) and len(what) >= 2:
                raise Usage(f"GDB cannot catch a {name} of a recording", instead)
    if word in ("i", "inf", "info") and what == "proc" and not _begins(part, "mappings"):
        raise Usage("`info proc` asks about a process: this is a recording", _PROCESS)
    for name, shortest, why, instead in _REFUSED:
        if len(word) >= shortest and name.startswith(word):
            raise Usage(f"`{name}` {why}", instead)
