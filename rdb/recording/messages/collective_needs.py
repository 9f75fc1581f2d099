"""What a rank in a collective waits for."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from rdb.recording.log.describe import PROC_NULL
from rdb.recording.messages.standing import Standing, comm_of
from rdb.recording.messages.wait_graph import Need
from rdb.recording.mpi.collectives import Flow, collectives
from rdb.recording.mpi.communication import Communicator

IMPLEMENTED = "in this MPI a collective may also wait for ranks whose data it does not need"


def _alike(one: str, other: str) -> bool:
    """Are these the same procedure, apart from large counts?"""
    return one.removesuffix("_c") == other.removesuffix("_c")


def _first_difference(rows: Sequence[array[int]]) -> int:
    """The first place where two of the rows have different elements; if there is none, the
    length of the longest."""
    longest = max(rows, key=len)

    def differs(row: array[int]) -> int:
        least, most = 0, len(row)  # equal before LEAST; the first difference is at most at MOST
        while least < most:
            middle = (least + most + 1) // 2
            if row[least:middle] == longest[least:middle]:
                least = middle
            else:
                most = middle - 1
        return least if least < len(row) else len(longest)

    return min(map(differs, rows))


class CollectiveNeeds(Standing):
    def mismatches(self) -> Iterable[str]:
        """Messages about ranks that call different collectives as the n-th of a communicator: of
        each communicator the first place where they do."""
        called: dict[str, dict[int, array[int]]] = {}
        for rank in self.at:
            one = self._messages.communication(rank)
            for name, known in one.communicators.items():
                if known.members != () and name in one.collectives:
                    numbers = one.procedures(name)[: self._done(rank, name)]
                    called.setdefault(name, {})[rank] = numbers
        for rank, call in self._each():
            comm = self._comm(rank, comm_of(call.arguments))
            if comm and comm.members != () and call.name in self._numbers:
                number = self._numbers[call.name.removesuffix("_c")]
                called.setdefault(comm.name, {}).setdefault(rank, array("I")).append(number)
        for comm_name, of_rank in called.items():
            place = _first_difference(list(of_rank.values()))
            ranks_of: dict[int, list[int]] = {}
            for rank, numbers in of_rank.items():
                if place < len(numbers):
                    ranks_of.setdefault(numbers[place], []).append(rank)
            if len(ranks_of) > 1:
                said = ", ".join(
                    f"{collectives()[number][0]} in rank {','.join(map(str, ranks))}"
                    for number, ranks in ranks_of.items()
                )
                yield f"ranks differ in collective {place + 1} of {comm_name}: {said}"

    def _needed(
        self, rank: int, name: str, comm: Communicator, number: int, root: int
    ) -> list[Need | None]:
        """The needs of a collective: ranks whose data it needs, and ranks for which the MPI may
        wait in addition.  If all of the former have called it, it waits for one of the latter."""
        missing = self._missing(rank, name, comm, number)
        needed, what = self._bring(rank, name, comm, root), f"{name} on {comm.name}"
        if needed is None:
            why = "the log does not say which ranks are its neighbours"
            need = self._lacking(what, missing)
            return [need and replace(need, doubt=why)]
        others = self._lacking(what, [one for one in missing if one not in needed])
        return [
            self._lacking(what, [one for one in missing if one in needed]),
            others and replace(others, doubt=IMPLEMENTED),
        ]

    def _bring(self, rank: int, name: str, comm: Communicator, root: int) -> Collection[int] | None:
        """Ranks whose data RANK needs in a collective (MPI-4.0, 6.2.3); None: not known."""
        flow, members = collectives()[self._numbers[name]][1], self._members(comm)
        if flow is Flow.LATER:
            neighbors = self._messages.communication(rank).neighbors.get(comm.name)
            return members if "idup" in name else neighbors
        if flow is Flow.ALL:
            return members  # of an intercommunicator: the other group
        if flow is Flow.UPWARDS:
            return members[: members.index(rank)] if rank in members else ()
        roots = members[root : root + 1] if root >= 0 else ()
        if flow is Flow.FROM_ROOT:
            return () if rank in roots else roots
        return members if rank in roots or root < PROC_NULL else ()  # below it: MPI_ROOT

    def _missing(self, rank: int, name: str, comm: Communicator, number: int) -> list[int]:
        """Ranks that have not called a collective."""
        missing = []
        for one in self._all(comm):
            if one == rank:
                continue
            if one in self.at:
                done = self._done(one, comm.name)
                if done > number:
                    continue
                theirs = [
                    self._where(one, call)
                    for call in self.calls.get(one, ())
                    if _alike(call.name, name)
                ]
                if done == number and any(own and own.name == comm.name for own in theirs):
                    continue
            missing.append(one)
        return missing

    def _collective(self, rank: int, name: str, comm: Communicator, number: int) -> Need | None:
        """The need of a collective in which each rank needs all others."""
        missing = self._missing(rank, name, comm, number)
        return self._lacking(f"{name} on {comm.name}", missing)
