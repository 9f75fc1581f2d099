"""What a rank waits for where ranks meet: to begin, to end, to make and to free objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from rdb.recording.messages.collective_needs import IMPLEMENTED, CollectiveNeeds
from rdb.recording.messages.wait_graph import Call, Need
from rdb.recording.mpi.communication import WORLD, Communicator

_WAITS_TO_FREE = frozenset(("MPI_Win_free", "MPI_Comm_disconnect"))


class MeetingNeeds(CollectiveNeeds):
    def _finalize(self, rank: int) -> Need | None:
        missing = [
            one
            for one in (*self.at, *self._lost)
            if one != rank and not self._ended.get(one) and not self._called(one, "MPI_Finalize")
        ]
        return Need("MPI_Finalize of all ranks", tuple(missing)) if missing else None

    def _init(self, rank: int, name: str) -> Need | None:
        others = [
            one
            for one in self._all(WORLD)
            if one != rank and not self._has_begun(one) and not self._called(one, name)
        ]
        if not others:
            return None
        why = f"the log does not say which ranks have called {name}"
        return Need(f"{name} of other ranks", tuple(others), doubt=why)

    def _meeting(
        self, rank: int, name: str, where: Communicator, ranks: Iterable[int], *also: object
    ) -> Need | None:
        """Ranks that have not made the call in which RANK is; ALSO: what else the calls agree
        in."""
        number = self._met(rank, name, where.name, *also)
        missing = [
            one
            for one in ranks
            if one != rank
            and self._met(one, name, where.name, *also) <= number
            and not self._stands_in(one, name, where)
        ]
        return self._lacking(f"{name} on {where.name}", missing)

    def _free(self, rank: int, call: Call) -> Need | None:
        name, where = call.name, self._where(rank, call)
        if where is None:
            return None
        if name != "MPI_File_close":  # names are unique, so a rank frees each only once
            ranks = [one for one in self._all(where) if not self._met(one, name, where.name)]
            need = self._meeting(rank, name, where, ranks)
        else:
            need = self._collective(rank, name, where, self._done(rank, where.name))
            closed = [one for one in need.ranks if self._met(one, name, where.name)] if need else []
            need = need and self._lacking(need.what, sorted({*need.ranks} - {*closed}))
        return need and (need if name in _WAITS_TO_FREE else replace(need, doubt=IMPLEMENTED))

    def _intercomm(self, rank: int, arguments: Mapping[str, int]) -> list[Need | None]:
        """The needs in the rank's own group, and in that of the remote leader."""
        name = "MPI_Intercomm_create"
        local = self._comm(rank, arguments["local_comm"])
        if local is None:
            return []
        found = [self._meeting(rank, name, local, self._members(local))]
        leader = self._world(local, arguments["local_leader"])
        call = self._called(leader, name)
        if call is None or not self._stands_in(leader, name, local):
            return found  # the leader is past this call, or has not come
        peers = self._comm(leader, call.arguments["peer_comm"])
        if peers is None:
            return found
        tag, there = call.arguments["tag"], call.arguments["remote_leader"]
        remote = self._world(peers, there)
        own = self._world_rank(peers, leader)
        number = self._met(leader, name, peers.name, there, tag)
        if self._met(remote, name, peers.name, own, tag) > number:
            return found
        theirs = self._called(remote, name)
        said = theirs.arguments if theirs else {}
        same = said.get("tag") == tag and said.get("remote_leader") == own
        if theirs is None or not same:
            found.append(self._lacking(f"{name} of the other group", (remote,)))
            return found
        group = self._comm(remote, said["local_comm"])
        if group is not None:
            found.append(self._meeting(remote, name, group, self._members(group)))
        return found

    def _create_group(self, rank: int, arguments: Mapping[str, int]) -> Need | None:
        name, comm = "MPI_Comm_create_group", self._comm(rank, arguments["comm"])
        ranks = self._group(rank, arguments["group"])
        if comm is None:
            return None
        if ranks is None:
            why = "the log does not say which ranks the group has"
            return Need(name, (), doubt=why, perhaps_none=True)
        return self._meeting(rank, name, comm, ranks, arguments["tag"], ranks)

    def _outside(self, rank: int, call: Call) -> Need | None:
        """The need of a call that also waits for processes without logs here.  It comes up when all
        ranks with a log have made the call."""
        comm = self._where(rank, call)
        if comm is not None:
            need = self._meeting(rank, call.name, comm, self._all(comm))
            if need is not None or call.name == "MPI_Intercomm_merge":
                return need
        why = f"processes outside of this job take part in {call.name}, and have no log here"
        return Need(f"{call.name} in another job", (), doubt=why, perhaps_none=True)
