"""Recordings on real devices: what their logs show of each side of a cut.

A device reports its work by completions alone, which a log has where the program polled them. A
message that uses a receive was carried out when its receiver polled that completion, and so were
the messages before it on the connection. Until then it may be carried out again, as nobody has
looked at what it writes. For RDMA writes and atomics the target may look at memory, and nothing
shows whose write it sees. So no cut has a rank between posting such a request and learning of its
end; and a request that has ended is in the target's log from the first event that began later.
"""

from __future__ import annotations

from collections.abc import Iterator

from rdb.live.verbs.queues import Life, Send
from rdb.live.verbs.rank import UD, Need, RankVerbs
from rdb.recording.log.record import NEVER

_TAKES_RECEIVE = frozenset({1, 2, 3, 9})  # of enum ibv_wr_opcode: with immediate data, SEND...
_WRITES = frozenset({0, 5, 6})  # RDMA_WRITE and the atomics


def match(life: Life) -> None:
    """Matches the sends of a connection with the receives that the other end has polled."""
    assert life.other is not None
    taken = iter(life.other.polled)
    for send in life.sends:
        if send.request.opcode in _TAKES_RECEIVE:
            send.taken = next(taken, NEVER)
    known = NEVER
    for send in reversed(life.sends):
        if send.number is not None:
            known = send.taken = min(known, send.taken)
            send.taken_by = life.other_rank


def needs(
    rank: int, verbs: RankVerbs, life: Life, target: RankVerbs | None, kind: int
) -> Iterator[Need]:
    if life.other is None and kind != UD:
        return
    for send in life.sends:
        if send.number is None:
            continue
        heard = min(life.heard_of(send), life.ended)
        if send.request.opcode in _TAKES_RECEIVE:
            if send.taken != NEVER:
                yield send.taken_by, send.taken, rank, send.event
            if heard != NEVER and (kind != UD or send.taken != NEVER):
                yield rank, heard, send.taken_by, send.taken
        elif send.request.opcode in _WRITES and target is not None:
            yield rank, send.event, rank, heard
            yield from _written(rank, verbs, life, target, send)


def _written(
    rank: int, verbs: RankVerbs, life: Life, target: RankVerbs, send: Send
) -> Iterator[Need]:
    heard, peer = min(life.heard_of(send), life.ended), life.other_rank
    if verbs.host == target.host:  # both hosts have one clock
        found = target.looks.found_after(verbs.looks.before(send.event))
        done = NEVER if heard == NEVER else target.looks.begun_after(verbs.looks.ended(heard))
    else:  # other hosts: known from the messages before and after it
        earlier = (one.taken for one in life.sends[: send.place])
        found = target.looks.found_behind(max(earlier, default=0))
        done = NEVER
    if found != NEVER:
        yield peer, found, rank, send.event
    if heard != NEVER:
        yield rank, heard, peer, min(done, send.taken)
