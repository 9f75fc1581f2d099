"""What a branch begins with in verbs, for later restarts of the branch.

Messages and requests in the branch's log are numbered from where its queue pairs were made again:
first the READs that the restart repeats, then the requests that it posts again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Any

from rdb.live.verbs.queues import Life, Pair, Receives, Send
from rdb.live.verbs.rank import RankVerbs
from rdb.recording import RankRecording


def account(
    at_cut: RankVerbs,
    whole: RankVerbs,
    recording: RankRecording,
    events: Mapping[int, int],
    lines: Iterable[str],
) -> str:
    """The rank's verbs objects at the cut, as JSON.

    AT_CUT and WHOLE: the rank's log, read up to the cut (EVENTS) and to its end. LINES: the rank's
    plan.
    """
    until = events[at_cut.rank]
    again: dict[int, set[int]] = {}
    reads: dict[int, int] = {}
    for words in (line.split() for line in lines):
        if words[0] == "send":
            again.setdefault(int(words[1]), set()).add(int(words[2]))
        elif words[0] == "read":
            reads[int(words[1])] = reads.get(int(words[1]), 0) + 1
    known = {pair.handle: pair for pair in whole.all_pairs}
    pairs = []
    for handle, pair in at_cut.pairs.items():
        life = known[handle].at(until)
        if life is not None:
            sends = [one for one in life.sends if one.ordinal in again.get(handle, ())]
            gone = life.other is not None and life.other.ended <= events[life.other_rank]
            one = _pair(pair, life, sends, until)
            one["before"] = reads.get(handle, 0)
            one["all_signaled"] = known[handle].all_signaled
            one["alone"] = life.alone or gone
            pairs.append(one)
    shared = [
        {
            "handle": handle,
            "posted": at_cut.shared_posted[handle],
            "receives": _outstanding(whole.shared.get(handle, own), until),
        }
        for handle, own in at_cut.shared.items()
    ]
    queues = [
        {
            "handle": handle,
            "cookie": one.cookie,
            "armed": one.armed,
            "solicited_only": one.solicited_only,
            "events": max(one.events, 0),
            "entries": [entry.hex() for entry in one.entries],
        }
        for handle, one in at_cut.queues.items()
    ]
    seen = recording.verbs(until).seen()
    return json.dumps(
        {
            "pairs": pairs,
            "shared": shared,
            "queues": queues,
            "async": at_cut.async_events,
            "limits": at_cut.limits,
            "seen": seen,
        }
    )


def _pair(pair: Pair, life: Life, sends: list[Send], until: int) -> dict[str, Any]:
    failed = life.failed <= until
    return {
        "fields": [
            *(pair.handle, pair.number, pair.type),
            *(pair.send_cq, pair.recv_cq, pair.srq),
        ],
        "peer": pair.life.peer,
        "failed": failed,
        "posted": pair.posted,
        "received": pair.received,
        "sends": [(one.ordinal, astuple(one.request)) for one in sends],
        "receives": [] if failed else _outstanding(life.receives, until),
    }


def _outstanding(receives: Receives, until: int) -> list[tuple[int, int]]:
    return [(one.ordinal, one.wr_id) for one in receives.outstanding(until)]
