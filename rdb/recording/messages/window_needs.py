"""What a rank waits for in a call on a window: fences, epochs, locks."""

from __future__ import annotations

from dataclasses import replace

from rdb.recording.messages.collective_needs import CollectiveNeeds
from rdb.recording.messages.wait_graph import Call, Need
from rdb.recording.mpi.collectives import NOPRECEDE
from rdb.recording.mpi.communication import Communicator
from rdb.recording.mpi.epochs import Epochs, missing, unposted
from rdb.recording.mpi.locks import ALL, EXCLUSIVE

LOCKING = frozenset(
    (
        "MPI_Win_lock",
        "MPI_Win_lock_all",
        "MPI_Win_unlock",
        "MPI_Win_unlock_all",
        "MPI_Win_flush",
        "MPI_Win_flush_all",
        "MPI_Win_flush_local",
        "MPI_Win_flush_local_all",
    )
)


class WindowNeeds(CollectiveNeeds):
    def _on_window(self, rank: int, call: Call) -> Need | None:
        window = self._where(rank, call)
        if window is None:
            return None
        if call.name in LOCKING:
            return self._lock(rank, call, window)
        if call.name == "MPI_Win_fence" and call.arguments.get("assert", 0) & NOPRECEDE:
            return None
        if call.name == "MPI_Win_fence":
            return self._collective(rank, call.name, window, self._done(rank, window.name))
        others: dict[int, Epochs] = {}
        for one in self.at:
            others[one] = self._messages.communication(one).epochs.get(window.name, Epochs())
        if call.name == "MPI_Win_wait":
            what, ranks = "MPI_Win_complete", missing(others[rank], others, self.at, rank)
        elif call.name == "MPI_Win_complete":
            what, ranks = "MPI_Win_post", unposted(others[rank], others, self.at, rank)
        elif call.name == "MPI_Win_start":
            group = self._group(rank, call.arguments["group"])
            if group is None:
                why = "the log does not say which ranks the group has"
                return Need("MPI_Win_post", (), doubt=why, perhaps_none=True)
            asked = replace(others[rank], starts=[*others[rank].starts, (self.at[rank] + 1, group)])
            where = {**self.at, rank: self.at[rank] + 1}
            what, ranks = "MPI_Win_post", unposted(asked, others, where, rank)
        else:
            return None
        return self._lacking(f"{what} on {window.name}", ranks)

    def _lock(self, rank: int, call: Call, window: Communicator) -> Need | None:
        """Ranks whose lock excludes the one of this call.  A lock may be acquired later than the
        call that asks for it (MPI-4.0, 12.5.3)."""
        asks = call.name in ("MPI_Win_lock", "MPI_Win_lock_all")
        target = self._target(call)
        own = self._messages.communication(rank).locks.get(window.name)
        if asks:
            exclusive = call.arguments.get("lock_type") == EXCLUSIVE
        else:
            held = own.held(self.at[rank]) if own else ()
            exclusive = any(one.exclusive for one in held if one.target == target)
        holders, perhaps = self._holders(rank, window, target, exclusive)
        asking = self._each() if not holders else ()  # locks may be given in the order of asking
        for other, there in asking:
            queued = there.name == "MPI_Win_lock" and self._on(other, there, window)
            queued = queued and other != rank
            first = queued and there.arguments.get("lock_type") == EXCLUSIVE
            if first and target in (ALL, self._target(there)):
                behind, more = self._holders(other, window, self._target(there), True)
                holders += [one for one in behind if one != rank]
                perhaps = perhaps or more
        if not holders:
            return None
        what = f"the lock of {'all targets' if target == ALL else f'target {target}'}"
        need = Need(f"{what} on {window.name}", tuple(sorted(set(holders))))
        if asks and len(need.ranks) == 1 and not perhaps:
            return need
        why = "the log does not say which of several ranks holds the lock"
        return replace(need, doubt=why, perhaps_none=perhaps or not asks)

    @staticmethod
    def _target(call: Call) -> int:
        return ALL if "_all" in call.name else call.arguments["rank"]

    def _on(self, rank: int, call: Call, window: Communicator) -> bool:
        """Is the unanswered call of RANK on that window?"""
        there = self._where(rank, call)
        return there is not None and there.name == window.name

    def _holders(
        self, rank: int, window: Communicator, target: int, exclusive: bool
    ) -> tuple[list[int], bool]:
        """Ranks that may hold a lock that excludes RANK's, and whether another rank may hold one
        that waits only for that lock, and can go on if it has it."""
        found, goes_on = [], False
        for one in self.at:
            locks = self._messages.communication(one).locks.get(window.name)
            held = [
                lock
                for lock in (locks.held(self.at[one]) if locks and one != rank else ())
                if (lock.exclusive or exclusive)
                and (lock.target == target or ALL in (lock.target, target))
            ]
            calls = self.calls.get(one, ()) if one != rank else ()
            call = next((call for call in calls if call.name in LOCKING), None)
            if call and self._on(one, call, window):
                if exclusive and call.name == "MPI_Win_lock_all":  # it may have some targets
                    found.append(one)
                if held and {lock.target for lock in held} == {self._target(call)} - {ALL}:
                    goes_on = True
                    continue
            if held:
                found.append(one)
        return found, goes_on
