"""The relay: a process on each host of a job without a log, which speaks for the host's ranks.

The ranks of a host share a board (restart/checkpoint/board.h). The first relay of the job is the
**centre**: it knows all slots, decides, and tells the other relays, which write the verdict on
their boards. The job's directory has the centre's address; a channel to the centre needs the job's
certificate.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rdb.checked import to_json
from rdb.coordinate.agreement import at_rest, objection, unmoved
from rdb.coordinate.board import Board, Slot, State, Verdict, Writing, board_path, parse_slot
from rdb.coordinate.centre import ADDRESS, APART, CENTRE, centre_address
from rdb.coordinate.request import send_request
from rdb.errors import RdbError
from rdb.private import opener
from rdb.recording.checkpoints import image_path
from rdb.recording.rank import runs_rdb
from rdb.temporary import temporary
from rdb.wire.channel import Channel, Closed, Message, connect, listen, own_address
from rdb.wire.identity import Identity, job_identity

_IDLE_S, _BUSY_S = 0.05, 0.002
_FIND_S = 60.0
_BEGIN_S = 30.0
_STATE_BYTES = 8  # of a slot: state and process id


class Relay:
    """The common part of the centre and the other relays: the ranks of this host."""

    def __init__(self, job: str, nranks: int, parent: int) -> None:
        self.job = Path(job)
        self.host = os.uname().nodename
        self.board = Board(board_path(job, self.host))
        self.board.speak(os.getpid())
        self.nranks = nranks
        self._parent = parent
        self._said: dict[int, bytes] = {}
        self._signalled = 0
        self._writing = Writing(self.board)

    def local(self) -> dict[int, bytes]:
        """Slots of the ranks that run here; a killed rank's state becomes GONE."""
        found = {}
        for rank in range(self.nranks):
            raw = self.board.raw(rank)
            slot = parse_slot(raw)
            if slot.host != self.host or not slot.pid:
                continue
            if slot.there and not slot.lives:
                raw = State.GONE.to_bytes(4, "little") + raw[4:]
            found[rank] = raw
        return found

    def news(self) -> dict[int, bytes]:
        """The slots that have changed since the last call.

        While no checkpoint is under way only state and process id count, as the counts change all
        the time.
        """
        end = None if self.board.busy() else _STATE_BYTES
        changed = {
            rank: raw
            for rank, raw in self.local().items()
            if rank not in self._said or self._said[rank][:end] != raw[:end]
        }
        self._said.update(changed)
        return changed

    def over(self) -> bool:
        """Whether no rank of this host runs, none will start, and no image is being written."""
        if runs_rdb(self._parent):
            return False
        if any(parse_slot(raw).there for raw in self.local().values()):
            return False
        return not self._writing.goes_on()

    def want(self, generation: int) -> None:
        """Tells all ranks of this host about checkpoint GENERATION."""
        self.board.want(generation)
        if generation <= self._signalled:
            return
        self._signalled = generation
        for raw in self.local().values():
            slot = parse_slot(raw)
            if slot.there:
                with suppress(RdbError):  # it has just ended, which its slot shows
                    send_request(slot.pid, slot.started)

    async def pause(self) -> None:
        await asyncio.sleep(_BUSY_S if self.board.busy() else _IDLE_S)


def write_commit(job: Path, told: Message) -> None:
    """Writes the `commit-N` file that makes a checkpoint valid.

    Hosts without a shared disk have one each.
    """
    path = job / f"commit-{told['number']}"
    part = temporary(job, path.name)
    try:
        with open(part, "w", encoding="ascii", opener=opener) as file:
            file.write(to_json(told))
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def image_bytes(job: Path, rank: int, raw: bytes) -> int:
    """Disk space of the newest image that the rank, which runs on this host, has finished."""
    try:
        return image_path(job / f"rank-{rank}", parse_slot(raw).written).stat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _pack(slots: dict[int, bytes]) -> tuple[list[list[int]], bytes]:
    return [[rank, len(raw)] for rank, raw in slots.items()], b"".join(slots.values())


def _unpack(index: list[list[int]], data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    for rank, size in index:
        found[int(rank)] = data[at : at + size]
        at += size
    return found


class Other(Relay):
    """The relay of a host that is not the centre's."""

    async def run(self, address: Message) -> None:
        channel = await _reach(address, job_identity(str(self.job)))
        listening = asyncio.create_task(self._listen(channel))
        try:
            await channel.send({"op": "host", "name": self.host})
            while not self.over() and not listening.done():
                await self._tell(channel, None)
                await self.pause()
            await self._tell(channel, None)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            await channel.closed()
            self._alone()

    async def _tell(self, channel: Channel, confirm: int | None) -> None:
        news = self.local() if confirm is not None else self.news()
        wanted = self.board.wanted
        if news or confirm is not None or wanted > self._signalled:
            self._signalled = max(wanted, self._signalled)
            index, data = _pack(news)
            why = self.board.why
            message = {"op": "slots", "slots": index, "wanted": wanted, "why": why}
            sizes = {str(rank): image_bytes(self.job, rank, raw) for rank, raw in news.items()}
            await channel.send({**message, "confirm": confirm, "sizes": sizes}, data)

    async def _listen(self, channel: Channel) -> None:
        while True:
            message, data = await channel.receive()
            for rank, raw in _unpack(message.get("slots", []), data).items():
                self.board.put_raw(rank, raw)
            if message["op"] == "confirm":
                await self._tell(channel, int(message["number"]))
            elif message["op"] == "want":
                self.want(int(message["wanted"]))
            elif message["op"] == "verdict":
                generation, verdict = int(message["generation"]), Verdict(message["verdict"])
                self.board.decide(generation, verdict, str(message["why"]), message["moves"])
            elif message["op"] == "commit":
                with suppress(OSError):  # the centre has the record, too
                    write_commit(self.job, message["told"])
                self.board.commit(int(message["generation"]))

    def _alone(self) -> None:
        """Marks all ranks of other hosts as gone, as no more will be heard of them."""
        for rank in range(self.nranks):
            raw = self.board.raw(rank)
            if parse_slot(raw).host != self.host:
                self.board.put_raw(rank, State.GONE.to_bytes(4, "little") + raw[4:])
        self.board.decide(self.board.wanted, Verdict.NO)


async def _reach(address: Message, identity: Identity, patience_s: float = _FIND_S) -> Channel:
    """Connects to the centre, by its name as this host resolves it, or by its own address."""
    until_s = time.monotonic() + patience_s
    while True:
        for name in ("name", "host"):
            try:
                return await connect(str(address[name]), int(address["port"]), identity)
            except RdbError:
                if name == "host" and time.monotonic() > until_s:
                    raise
        await asyncio.sleep(_IDLE_S)


class Centre(Relay):
    """The relay that decides."""

    def __init__(self, job: str, nranks: int, parent: int) -> None:
        super().__init__(job, nranks, parent)
        self._known: dict[int, bytes] = {}
        self._channels: dict[str, Channel] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._confirming = 0
        self._before: list[Slot] | None = None
        self._answered: set[str] = set()
        self._why = ""
        self._refused = 0  # newest generation that a rank of another host objected to
        self._begun_s = time.monotonic()
        self._told = 0  # newest generation that the other relays know of
        self._sizes: dict[int, int] = {}

    def slots(self) -> list[Slot]:
        local = self.local()
        return [
            parse_slot(local.get(rank) or self._known.get(rank) or self.board.raw(rank))
            for rank in range(self.nranks)
        ]

    async def listen(self) -> tuple[str, int]:
        """Returns where the relays of other hosts reach it."""
        listens, address = own_address()
        _, port = await listen(listens, job_identity(str(self.job)), self._welcome)
        return address, port

    async def run(self) -> None:
        while not (self.over() and not self._channels):
            news = self.news()
            if news:
                index, data = _pack(news)
                await self._all({"op": "slots", "slots": index}, data)
            await self._step()
            await self.pause()
        await self._step()  # the last rank may have finished its part since
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _all(self, message: Message, data: bytes = b"", but: str | None = None) -> None:
        for host, channel in list(self._channels.items()):
            if host != but:
                with suppress(RdbError):  # the channel's own task notices that it is closed
                    await channel.send(message, data)

    # ---- deciding ----

    async def _step(self) -> None:
        generation = self.board.wanted
        if generation > self._told:
            self._told = generation
            self._before = None
            self.want(generation)
            await self._all({"op": "want", "wanted": generation})
        if not generation or self.board.committed >= generation:
            return
        verdict = self.board.verdict(generation)
        slots = self.slots()
        if verdict is Verdict.GO:
            if all(slot.failed < generation <= slot.written for slot in slots):
                await self._commit(generation)
        elif verdict is Verdict.OPEN:
            await self._decide(generation, slots)

    async def _commit(self, generation: int) -> None:
        told = {"number": generation, "ranks": self.nranks, "at_ns": time.time_ns()}
        try:
            write_commit(self.job, told)
        except OSError:  # such as a full disk: later checkpoints may find room
            self.board.fail(next(iter(self.local())), generation)
            return
        self.board.commit(generation)
        await self._all({"op": "commit", "generation": generation, "told": told})

    async def _decide(self, generation: int, slots: list[Slot]) -> None:
        elsewhere = self._refused >= generation
        if any(not slot.pid for slot in slots) and time.monotonic() < self._begun_s + _BEGIN_S:
            return  # a rank has not reported yet
        why = objection(slots, generation, self._why if elsewhere else self.board.why)
        if why is not None:
            await self._tell(generation, Verdict.NO, why)
        elif self._before is None:
            if at_rest(slots):
                self._before = slots
                self._answered = set()
                self._confirming += 1
                await self._all({"op": "confirm", "number": self._confirming})
        elif self._answered.issuperset(self._channels):
            before, self._before = self._before, None
            if unmoved(before, slots):
                await self._tell(generation, Verdict.GO, "", [slot.moves for slot in slots])

    async def _tell(
        self, generation: int, verdict: Verdict, why: str, moves: Sequence[int] = ()
    ) -> None:
        if not self.board.decide(generation, verdict, why, moves):
            # a rank of this host has refused
            verdict, why, moves = Verdict.NO, self.board.why, ()
        told = {"generation": generation, "verdict": verdict, "why": why, "moves": list(moves)}
        await self._all({"op": "verdict", **told})

    # ---- connections ----

    async def _welcome(self, channel: Channel) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._asking.add(task)
        try:
            message, _ = await channel.receive()
            if message["op"] == "host":
                await self._serve(channel, str(message["name"]))
            elif message["op"] == "take":
                await channel.send(await self._take(float(message["timeout_s"])))
            elif message["op"] == "alive":
                await channel.send({"alive": any(slot.there for slot in self.slots())})
            await channel.closed()
        except RdbError:  # a closed channel does not concern the others
            return
        finally:
            channel.close()
            self._asking.discard(task)

    async def _take(self, timeout_s: float) -> Message:
        """Answers `rdb checkpoint`: waits until all ranks have finished, or cannot finish."""
        generation = self.board.want()
        until_s = time.monotonic() + timeout_s
        while True:
            slots, late = self.slots(), time.monotonic() > until_s
            verdict = self.board.verdict(generation)
            failed = [rank for rank, slot in enumerate(slots) if slot.failed >= generation]
            if verdict is Verdict.OPEN and late:
                await self._tell(generation, Verdict.NO, "")
            done = self.board.committed >= generation
            done = done and not any(slot.state is State.HELD for slot in slots)
            if verdict is Verdict.NO or done or failed or late:
                break
            await asyncio.sleep(_BUSY_S)
        return {
            "generation": generation,
            "verdict": int(verdict),
            "why": self.board.why,
            "failed": failed,
            "stood_ns": [slot.stood_ns for slot in slots],
            "fork_ns": [slot.fork_ns for slot in slots],
            "written": [slot.written for slot in slots],
            "size_bytes": [
                image_bytes(self.job, rank, self.board.raw(rank)) or self._sizes.get(rank, 0)
                for rank in range(self.nranks)
            ],
        }

    async def _serve(self, channel: Channel, host: str) -> None:
        """Receives from another relay until its channel is closed."""
        everything = {**self._known, **self.local()}
        index, data = _pack(everything)
        self._channels[host] = channel  # before it is greeted: it must not miss what happens then
        mine: set[int] = set()
        try:
            await channel.send({"op": "slots", "slots": index}, data)
            if self.board.wanted:
                await channel.send({"op": "want", "wanted": self.board.wanted})
            while True:
                message, data = await channel.receive()
                heard = _unpack(message["slots"], data)
                mine.update(heard)
                self._sizes.update((int(rank), int(n)) for rank, n in message["sizes"].items())
                if any(parse_slot(raw).objects > self._refused for raw in heard.values()):
                    self._refused = max(parse_slot(raw).objects for raw in heard.values())
                    self._why = str(message["why"])
                await self._heard(heard, host)
                if message["wanted"] > self.board.wanted:
                    self.board.want(int(message["wanted"]))
                if message.get("confirm") == self._confirming:
                    self._answered.add(host)
        finally:
            del self._channels[host]
            gone = State.GONE.to_bytes(4, "little")
            await self._heard({rank: gone + self._known[rank][4:] for rank in mine}, host)

    async def _heard(self, slots: dict[int, bytes], host: str) -> None:
        if not slots:
            return
        self._known.update(slots)
        for rank, raw in slots.items():
            self.board.put_raw(rank, raw)
        index, data = _pack(slots)
        await self._all({"op": "slots", "slots": index}, data, but=host)


# ---- asking, starting ----


def ask_centre(job: Path, message: Message) -> Message:
    """The centre's answer to MESSAGE.  Closed: there is no centre, or it has ended."""
    address = centre_address(job)
    if address is None:
        raise Closed("no process of rdb coordinates the job's checkpoints")

    async def ask() -> Message:
        channel = await _reach(address, job_identity(str(job)), 0.0)
        try:
            await channel.send(message)
            return (await channel.receive())[0]
        finally:
            await channel.closed()

    return asyncio.run(ask())


def _claim(job: str, host: str, port: int) -> bool:
    """Publishes the centre's address; false if another relay has done so."""
    name, own = os.uname().nodename, temporary(job, ADDRESS)
    with open(own, "w", encoding="ascii", opener=opener) as file:
        json.dump({"name": name, "host": host, "port": port}, file)
    try:
        os.link(own, os.path.join(job, ADDRESS))
    except FileExistsError:
        return False
    finally:
        os.unlink(own)
    return True


async def _run(job: str, nranks: int, parent: int) -> None:
    if _may_be_here(Path(job)):
        centre = Centre(job, nranks, parent)
        if centre_address(Path(job)) is None and _claim(job, *await centre.listen()):
            await centre.run()
            return
    other = Other(job, nranks, parent)
    until_s = time.monotonic() + _FIND_S
    while (address := centre_address(Path(job))) is None:
        if other.over() or time.monotonic() > until_s:
            return
        await asyncio.sleep(_IDLE_S)
    await other.run(address)


def _may_be_here(job: Path) -> bool:
    """Whether the centre may be on this host.

    If all hosts see the job's directory it may be anywhere, otherwise only on the hosts of one
    directory.
    """
    try:
        return (job / APART).read_text(encoding="ascii") == CENTRE
    except FileNotFoundError:
        return True


def relay(job: str, nranks: int, parent: int) -> None:
    """Runs until no rank of this host runs any more.  PARENT: the rank that started it."""
    with suppress(RdbError, FileNotFoundError):  # the job was removed: nobody needs the relay
        asyncio.run(_run(job, nranks, parent))
