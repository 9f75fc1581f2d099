"""branch: list, name, enter and drop what-if branches."""

from __future__ import annotations

import gdb

from . import branches, history, link, place
from .command import Command, typed


class BranchCommand(Command):
    """What-if branches: branch [list], branch name [BRANCH] NAME, branch go|drop [BRANCH]
    Changing memory or registers, or calling a function, leaves the recording for a branch; going on
    runs the program against the recording until it asks for what that cannot answer.  The recording
    itself stays as it is, and `undo` takes each step back.  BRANCH is a name or a number, the
    present one if not given; `go` enters one again where it was left; `drop` forgets it."""

    name = "branch"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        words = argument.split()
        history.log.settle()
        match words:
            case [] | ["list"]:
                listing()
            case ["name", name]:
                branches.give_name(present(), name)
            case ["name", branch, name]:
                branches.give_name(branches.find(branch), name)
            case ["go", branch]:
                go(branches.find(branch), typed(self.name, argument))
            case ["drop"]:
                drop(present(), typed(self.name, argument))
            case ["drop", branch]:
                drop(branches.find(branch), typed(self.name, argument))
            case _:
                raise gdb.GdbError(f"Usage: {(self.__doc__ or '').splitlines()[0]}")


def present() -> branches.Branch:
    now = history.log.current
    if now is None or not now.branch:
        raise gdb.GdbError("This is no branch: you stand in the recording.")
    return branches.known[now.branch]


def listing() -> None:
    now = history.log.current
    if not branches.known:
        gdb.write("No branches.\n")
    kept = set(link.ask("kept")["kept"]) if branches.known else set()
    for branch in branches.known.values():
        here = "*" if now is not None and now.branch == branch.number else " "
        gone = "" if branch.tip.mark in kept else "  (not kept)"
        gdb.write(
            f"{here} {branch.number:<3} {branch.name or '-':<12} left at {branch.origin} "
            f"by `{branch.text}`{gone}\n"
        )


def go(branch: branches.Branch, text: str) -> None:
    with history.log.command(text):
        place.seek(f"@{branch.tip.mark}")
        place.show()


def drop(branch: branches.Branch, text: str) -> None:
    """From inside one comes back to where it left the recording."""
    now = history.log.current
    if now is not None and now.branch == branch.number:
        with history.log.command(text):
            place.seek(branch.root)
            place.show()
    branches.drop(branch)


def define() -> None:
    BranchCommand()
