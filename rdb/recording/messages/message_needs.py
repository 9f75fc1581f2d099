"""What a rank waits for in a send, a receive, a probe or a request."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace

from rdb.recording.log.describe import ANY, PROC_NULL, mpi_name
from rdb.recording.messages.collective_needs import IMPLEMENTED
from rdb.recording.messages.matching import Way
from rdb.recording.messages.wait_graph import Call, Need
from rdb.recording.messages.window_needs import WindowNeeds
from rdb.recording.mpi.collectives import collectives
from rdb.recording.mpi.communication import WORLD, Communicator, Item, What

_BUFFERED = frozenset(("MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init"))
MAY_BE_BUFFERED = "MPI may have buffered a message that nobody has received"
_SYNCHRONOUS = frozenset(("MPI_Ssend", "MPI_Issend", "MPI_Ssend_init"))


class MessageNeeds(WindowNeeds):
    def _receive(
        self, rank: int, source: int, tag: int, comm: Communicator, request: int
    ) -> Need | None:
        posted = self._matching.takers[(rank, comm.name)].by_request.get(request)
        if source == PROC_NULL or self._world_of.taken(rank, comm.name, request):
            return None
        if posted is not None and posted.cancelled:
            return None
        return self._message(rank, source, tag, comm)

    def _probe(self, rank: int, source: int, tag: int, comm: Communicator) -> Need | None:
        if source == PROC_NULL:
            return None
        wanted = source if source == ANY else self._world(comm, source)
        for peer, sent in self._world_of.waiting(rank, comm.name):
            if wanted in (ANY, peer) and tag in (ANY, sent):
                return None
        return self._message(rank, source, tag, comm)

    def _message(self, rank: int, source: int, tag: int, comm: Communicator) -> Need:
        anybody = source == ANY
        if anybody:
            ranks = list(self._members(comm))
            if any(one != rank for one in ranks):
                ranks = [one for one in ranks if one != rank]
        else:
            ranks = [self._world(comm, source)]
        notes = [note for one in ranks for note in self._notes(one, rank, tag, comm)]
        what = "a message from " + ("any rank" if anybody else f"rank {ranks[0]}")
        what += ", any tag" if tag == ANY else f", tag {tag}"
        if comm.name != WORLD.name:
            what += f", {comm.name}"
        return Need(what, tuple(ranks), any_of=anybody, notes=tuple(notes))

    def _notes(self, source: int, rank: int, tag: int, comm: Communicator) -> Iterable[str]:
        """What became of messages from SOURCE that could have matched."""
        if source not in self.at:
            return
        sender = self._messages.communication(source)
        left: list[tuple[int, str]] = []
        for (to, on, sent), places in sender.sends.items():
            if to != rank:
                continue
            way = (source, sent)
            first = self._world_of.consumed(rank, on, way)
            where = "" if on == comm.name else f" on {on}"
            for place in places[first:]:
                item = sender.item(place)
                if item.event <= self.at[source]:
                    left.append(
                        (
                            item.event,
                            f"rank {source} has sent {item.size_bytes} bytes with tag {sent}"
                            f"{where} (event {item.event}), which were not received",
                        )
                    )
            taker = self._world_of.taker(rank, on, way)
            if on == comm.name and tag in (ANY, sent) and taker is not None:
                yield (
                    f"the message of rank {source} with tag {sent} went to the receive that was "
                    f"posted at event {taker.event}"
                )
        yield from (note for _, note in sorted(left)[-3:])
        if source in self._ended:
            yield f"rank {source} has ended ({self._ended[source]})"

    def _send(self, rank: int, dest: int, tag: int, comm: Communicator, number: int) -> Need | None:
        """The need of a send; NUMBER: index of the message in its channel; -1: the newest."""
        if dest in self.at:
            sent = self._matching.sent(dest, comm.name).get((rank, tag), [])
            if number < 0:
                number += len(sent)
            if number < self._world_of.consumed(dest, comm.name, (rank, tag)):
                return None
        notes = [f"rank {dest} has ended ({self._ended[dest]})"] if dest in self._ended else []
        what = f"rank {dest} to receive tag {tag}"
        if comm.name != WORLD.name:
            what += f", {comm.name}"
        return Need(what, (dest,), notes=tuple(notes))

    def _request(self, rank: int, request: int) -> list[Need] | None:
        """The needs of a request, several if it both sends and receives; None: it is inactive, so a
        call for several requests ignores it (MPI-4.0, 3.7.5)."""
        parts = self._matching.last[rank].get(request, [])
        if not parts:
            why = "the log does not describe the operation of the request"
            return [Need("a request", (), doubt=why, perhaps_none=True)]
        if not any(self._active(rank, request, item) for item, _ in parts):
            return None
        found = [need for item, place in parts for need in self._part(rank, request, item, place)]
        return [need for need in found if need is not None]

    def _active(self, rank: int, request: int, item: Item) -> bool:
        """Has the request been started and not been completed?"""
        name = (mpi_name(item.nr) or "").removesuffix("_c")
        if item.what == What.MADE and name in ("MPI_Psend_init", "MPI_Precv_init"):
            return self._job.partitioned.active(rank, request, self.at)
        if item.what == What.DONE:
            return name == "MPI_Grequest_complete"
        if item.what == What.CANCELLED:
            return not item.order
        return item.what not in (What.RECV, What.PREPARED) and not (
            item.what == What.MADE and name.endswith("_init")
        )

    def _part(self, rank: int, request: int, item: Item, place: int) -> list[Need | None]:
        if item.what in (What.RECV, What.DONE, What.CANCELLED, What.PREPARED):
            return []
        if item.what == What.MADE:
            return [self._made(rank, request, item)]
        communication = self._messages.communication(rank)
        comm = communication.communicator(item.comm, item.event)
        if item.what in (What.POSTED, What.STARTED):
            return [self._receive(rank, item.peer, item.tag, comm, request)]
        if item.what == What.CALL:
            name = collectives()[item.nr][0]
            before = [communication.event(one) for one in communication.collectives[comm.name]]
            return self._needed(rank, name, comm, before.index(item.event), item.peer)
        return [self._sent(rank, place, comm)]

    def _made(self, rank: int, request: int, item: Item) -> Need | None:
        """The need of a request that is neither a message nor a collective on a communicator."""
        name = (mpi_name(item.nr) or "").removesuffix("_c")
        communication = self._messages.communication(rank)
        if name in ("MPI_Psend_init", "MPI_Precv_init"):
            lacks = self._job.partitioned.lacks(rank, request, self.at)
            if lacks is None:
                return None
            doubt = MAY_BE_BUFFERED if lacks.buffered else ""
            return Need(lacks.what, (lacks.rank,), doubt=doubt)
        if name == "MPI_Grequest_start":
            return Need("MPI_Grequest_complete", (rank,))
        file = communication.file(item.comm, item.event)
        if file is not None and name.endswith("_all"):
            calls = communication.met[(mpi_name(item.nr) or "", file.name)]
            number = bisect_right(calls, item.event)
            missing = [
                one
                for one in self._members(file)
                if self._met(one, mpi_name(item.nr), file.name) < number
            ]
            need = self._lacking(f"{name} on {file.name}", missing)
            return need and replace(need, doubt=IMPLEMENTED)
        window = communication.window(item.comm) if name.startswith("MPI_R") else None
        if window is not None:
            flush = Call("MPI_Win_flush", name, {"rank": item.peer, "win": item.comm})
            return self._lock(rank, flush, window)
        return None

    def _sent(self, rank: int, place: int, comm: Communicator) -> Need | None:
        """The need of a nonblocking send that has not been received."""
        communication = self._messages.communication(rank)
        item = communication.item(place)
        name = mpi_name(item.nr) or ""
        if name in _BUFFERED:
            return None
        way: Way = (rank, item.tag)
        sent = self._matching.sent(item.peer, comm.name).get(way, []) if item.peer >= 0 else []
        number = next((at for at, one in enumerate(sent) if one[1] == place), -1)
        need = self._send(rank, item.peer, item.tag, comm, number)
        if need is None or name in _SYNCHRONOUS:
            return need
        return replace(need, doubt=MAY_BE_BUFFERED)
