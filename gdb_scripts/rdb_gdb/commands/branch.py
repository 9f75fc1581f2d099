"""branch: list, name, enter and drop what-if branches."""

from __future__ import annotations

import gdb

from .. import link
from ..state import branches, history, place
from .command import Command, command, typed


@command("branch")
class BranchCommand(Command):
    """What-if branches: branch [list], branch name [BRANCH] NAME, branch go|drop [BRANCH]
    Changing memory or registers, or calling a function, leaves the recording for a branch; going on
    there runs the program until it asks for something that the recording cannot answer.  The
    recording itself stays as it is, and `undo` takes each step back.  BRANCH is a name or a number
    (default: the present branch); `go` enters one again where it was left; `drop` forgets it."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        words = argument.split()
        history.log.settle()
        what, given = (words[0], len(words) - 1) if words else ("list", 0)
        if (what, given) == ("list", 0):
            listing()
        elif what == "name" and 1 <= given <= 2:
            branches.give_name(present() if given == 1 else branches.find(words[1]), words[-1])
        elif (what, given) == ("go", 1):
            go(branches.find(words[1]), typed(self.name, argument))
        elif what == "drop" and given <= 1:
            drop(branches.find(words[1]) if given else present(), typed(self.name, argument))
        else:
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
        gone = "" if branch.tip.stop_point in kept else "  (not kept)"
        gdb.write(
            f"{here} {branch.number:<3} {branch.name or '-':<12} left at {branch.origin} "
            f"by `{branch.text}`{gone}\n"
        )


def go(branch: branches.Branch, text: str) -> None:
    with history.log.command(text):
        place.seek(f"@{branch.tip.stop_point}")
        place.show()


def drop(branch: branches.Branch, text: str) -> None:
    """Drops a branch; from inside of it the rank first goes to where it left the recording."""
    now = history.log.current
    if now is not None and now.branch == branch.number:
        with history.log.command(text):
            place.seek(branch.root)
            place.show()
    branches.drop(branch)
