"""Verbs at a cut: dependences between the owners of queue pairs, and requests to post again.

The software HCA notes in the log when a target has carried out a message, and when a completion was
queued. So each side's state at the cut is known exactly. A message that its target had not carried
out is posted again, once. A message that was carried out is not; if its sender had not got the
completion, the sender gets it.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping

from rdb.errors import RdbError
from rdb.live.verbs import devices as verbs_devices
from rdb.live.verbs.begun import account
from rdb.live.verbs.queues import (
    NUMBER,
    SIGNALED,
    WC,
    WC_BYTES,
    WC_NUMBER_AT,
    Life,
    Pair,
    Send,
)
from rdb.live.verbs.rank import BIND_MW, UD, Need, RankVerbs, asks_verbs, uses_verbs
from rdb.recording import Job
from rdb.recording.log.record import NEVER

_RC = 2  # enum ibv_qp_type
_ANSWERED = frozenset({4, 5, 6})  # IBV_WR_RDMA_READ and the atomics
_ATOMIC = frozenset({5, 6})
# enum ibv_wr_opcode -> enum ibv_wc_opcode
_COMPLETED_AS = {0: 1, 1: 1, 2: 0, 3: 0, 4: 2, 5: 3, 6: 4, 7: 6, 8: 5, 9: 0}


class VerbsTraffic:
    """The verbs traffic of a job: each side's messages matched with the other's."""

    def __init__(self, job: Job) -> None:
        self.ranks = {
            rank: RankVerbs(rank, job.rank(rank))
            for rank in job.ranks
            if uses_verbs(job.rank(rank))
        }
        self._job = job
        self._connect()

    def _connect(self) -> None:
        """Matches the n-th connection of a queue pair to its peer with the peer's n-th
        connection.
        """
        ends: dict[tuple[int, int], list[tuple[int, Life]]] = {}
        for rank, verbs in self.ranks.items():
            for pair in verbs.all_pairs:
                for life in pair.lives:
                    if life.peer and pair.type != UD:
                        ends.setdefault((pair.number, life.peer), []).append((rank, life))
        for (own, peer), lives in ends.items():
            others = ends.get((peer, own), [])
            for (_, life), (rank, other) in zip(lives, others, strict=False):
                life.other, life.other_rank = other, rank
                if not self.ranks[rank].noted:
                    verbs_devices.match(life)
                    continue
                for send in life.sends:
                    if send.number is not None and send.number in other.taken:
                        send.taken, send.was = other.taken[send.number]
                        send.taken_by = rank
        self._match_datagrams()

    def _match_datagrams(self) -> None:
        sources: dict[int, list[Life]] = defaultdict(list)
        for verbs in self.ranks.values():
            for pair in verbs.all_pairs:
                if pair.type == UD:
                    sources[pair.number] += pair.lives
        targets: set[int] = set()
        for rank, verbs in self.ranks.items():
            for (source, _), came in verbs.datagrams.items():
                if source in targets and not verbs.noted:
                    raise RdbError(
                        f"queue pair {source:#x} has sent datagrams to several queue pairs, and "
                        "the log of a real device does not say which datagram went to which",
                        "record it with --hca=soft",
                    )
                targets.add(source)
                seen: set[int] = set()
                for event, number in came:
                    sends = (
                        life.sends[number - life.before]
                        for life in sources[source]
                        if 0 <= number - life.before < len(life.sends)
                    )
                    send = next((one for one in sends if id(one) not in seen), None)
                    if send is None:
                        continue
                    seen.add(id(send))
                    if send.taken == NEVER:
                        send.taken, send.taken_by = event, rank
                    else:
                        send.also.append((rank, event))

    def needs(self) -> Iterator[Need]:
        """The dependences that verbs add to a cut."""
        for rank, verbs in self.ranks.items():
            for pair in verbs.all_pairs:
                for life in pair.lives:
                    if life.other is not None:
                        yield from self._needs_of_ends(rank, life, life.other_rank, life.other)
                    target = self.ranks.get(life.other_rank)
                    if not verbs.noted:
                        yield from verbs_devices.needs(rank, verbs, life, target, pair.type)
                    elif life.other is not None or pair.type == UD:
                        yield from self._needs_of_sends(rank, pair, life)

    @staticmethod
    def _needs_of_ends(rank: int, life: Life, peer: int, other: Life) -> Iterator[Need]:
        by_number = {one.number: one for one in life.sends if one.number is not None}
        yield rank, life.connected, peer, other.begun
        for event, number in other.arrivals:
            if number in by_number:  # bytes that arrived before the message was complete
                yield peer, event, rank, by_number[number].event

    @staticmethod
    def _needs_of_sends(rank: int, pair: Pair, life: Life) -> Iterator[Need]:
        for send in life.sends:
            if send.number is None:
                continue
            peer = send.taken_by
            if send.taken != NEVER:
                yield peer, send.taken, rank, send.event
            yield from ((other, event, rank, send.event) for other, event in send.also)
            if send.completed != NEVER and not send.failed:
                if send.taken == NEVER and pair.type != _RC:
                    continue  # a lost message stays lost
                if send.taken == NEVER:
                    peer = life.other_rank
                    raise RdbError(
                        f"rank {rank}: the log of rank {peer} does not say when it carried out "
                        f"the request that was posted at event {send.event}",
                        "it is damaged, or ranks were recorded on different HCAs",
                    )
                yield rank, send.completed, peer, send.taken

    def plans(self, events: Mapping[int, int]) -> tuple[dict[int, list[str]], dict[int, str]]:
        """The plan of each rank (restart_plan.h), and what each begins with.

        A rank that has opened no device at the cut may do so later, so it gets the list of ranks
        that have.
        """
        using = [rank for rank in self.ranks if uses_verbs(self._job.rank(rank), events[rank])]
        lines = {
            rank: [f"rank {one}" for one in using]
            for rank in self._job.ranks
            if using or (rank in events and asks_verbs(self._job.rank(rank), events[rank]))
        }
        begun = {}
        for rank in using:
            recording, until = self._job.rank(rank), events[rank]
            at_cut = RankVerbs(rank, recording, until)
            lines[rank] += self._rank_plan(rank, at_cut, events)
            begun[rank] = account(at_cut, self.ranks[rank], recording, events, lines[rank])
        return lines, begun

    def under_way(self, events: Mapping[int, int]) -> Iterator[tuple[int, Pair, Send]]:
        """Requests that are posted again."""
        for rank, verbs in self.ranks.items():
            for pair in verbs.all_pairs:
                life = pair.at(events[rank])
                if life is not None and life.failed > events[rank]:
                    for send in life.sends:
                        if self._again(send, life, rank, events):
                            yield rank, pair, send

    @staticmethod
    def _again(send: Send, life: Life, rank: int, events: Mapping[int, int]) -> bool:
        heard = min(send.completed, life.heard_of(send))
        if send.event > events[rank] or heard <= events[rank] or send.number is None:
            return False
        if any(event <= events[other] for other, event in send.also):
            return False  # some of its group may miss it, but none gets it twice
        return send.taken == NEVER or send.taken > events[send.taken_by]

    def _rank_plan(self, rank: int, at_cut: RankVerbs, events: Mapping[int, int]) -> Iterator[str]:
        until = events[rank]
        whole = self.ranks[rank]
        by_handle = {pair.handle: pair for pair in whole.all_pairs}
        for handle in at_cut.pairs:
            pair = by_handle[handle]
            life = pair.at(until)
            if life is None:
                continue
            if life.failed <= until:
                yield f"failed {handle}"
                continue
            if life.peer and pair.type != UD and life.other is None and not life.alone:
                raise RdbError(
                    f"rank {rank}: its queue pair {pair.number:#x} is connected to a process that "
                    "is not of this job",
                    "record both sides as ranks of one job: rdb run -n 2 ...",
                )
            for send in life.sends:
                if send.request.opcode == BIND_MW and send.event <= until < life.heard_of(send):
                    raise RdbError(
                        f"rank {rank}: at event {until} it is not known whether the memory window "
                        f"is bound that was posted at event {send.event}",
                        "choose an event after a completion of it or of a later request",
                    )
                if self._again(send, life, rank, events):
                    yield f"send {handle} {send.ordinal}"
                elif _unheard(send, life, rank, events):
                    if send.request.opcode in _ATOMIC:
                        yield f"value {handle} {send.ordinal} {send.was}"
                    elif send.request.opcode in _ANSWERED:
                        yield f"read {handle} {send.ordinal}"
                    if send.request.flags & SIGNALED or pair.all_signaled:
                        at_cut.queues[pair.send_cq].push(_success(pair, send), False)
            for one in life.receives.outstanding(until):
                yield f"recv {handle} {one.ordinal}"
        for handle in at_cut.shared:
            for one in whole.shared.get(handle, at_cut.shared[handle]).outstanding(until):
                yield f"recv {handle} {one.ordinal}"
        for handle, queue in at_cut.queues.items():
            yield (
                f"queue {handle} {int(queue.armed)} {int(queue.solicited_only)} "
                f"{max(queue.events, 0)}"
            )
            for entry in queue.entries:
                yield f"wc 0 0 {entry.hex()}"
        for context, kind, thing in at_cut.async_events:
            yield f"async {context} {kind} {thing}"
        for handle, limit in at_cut.limits.items():
            if limit:
                yield f"limit {handle} {limit}"


def _success(pair: Pair, send: Send) -> bytes:
    entry = bytearray(WC_BYTES)
    opcode = send.request.opcode
    size = send.request.size_bytes if opcode in _ANSWERED else 0
    WC.pack_into(entry, 0, send.request.wr_id, 0, _COMPLETED_AS.get(opcode, 0))
    struct.pack_into("<I", entry, 20, size)  # byte_len
    NUMBER.pack_into(entry, WC_NUMBER_AT, pair.number)
    return bytes(entry)


def _unheard(send: Send, life: Life, rank: int, events: Mapping[int, int]) -> bool:
    """Whether SEND was carried out, but its sender did not know that at the cut."""
    return (
        send.event <= events[rank] < life.heard_of(send)
        and send.taken != NEVER
        and send.taken <= events[send.taken_by]
    )
