"""What a program has of the world at an event, as far as the log says: descriptors, children.

A restart replays from an image.  What the program opened before that image is not in it, so the
image must be one before which nothing was opened that is open still (what comes after it is seen by
interposer/restart/open_files.c).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rdb.errors import DamagedRecording, RdbError
from rdb.live.sockets import uses_sockets
from rdb.recording import Checkpoint, RankRecording
from rdb.recording.checkpoints import check_image
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import Kind, Record

# x86-64 system calls by what they do to the table of descriptors (syscalls(2))
_OPEN = (2, 41, 43, 85, 213, 253, 257, 282, 283, 284, 288, 289, 290, 291, 294, 298, 319, 434, 437)
_DUP = (32, 33, 292)
_DUP_TO = (33, 292)
_CLOSE, _CLOSE_RANGE, _FCNTL = 3, 436, 72
_PAIRS = {22: 0, 293: 0, 53: 3}  # pipe, pipe2, socketpair: which argument gets both numbers
_F_DUPFD = (0, 1030)
_LASTING = (37, 38, 80, 81, 95, 222)  # alarm, setitimer, chdir, fchdir, umask, timer_create
_FORK = (56, 57, 58, 435)  # clone, fork, vfork, clone3
_WAIT4, _WAITID = 61, 247
_CLONE_THREAD = 0x10000
_CALLS = (*_OPEN, *_DUP, _CLOSE, _CLOSE_RANGE, _FCNTL, *_PAIRS, *_LASTING, *_FORK, _WAIT4, _WAITID)
_NAMESPACE_SHIFT = 16
_MPI, _VERBS = 1, 2  # RDB_NS_ in interposer/crossing/gate.h
_STANDARD = range(3)


@dataclass
class World:
    """Read forwards, event by event, from the beginning."""

    open: set[int] = field(default_factory=set)
    lasting: bool = False  # something else that an image does not have
    children: set[int] = field(default_factory=set)

    @property
    def bare(self) -> bool:
        """An image taken now has all."""
        return not self.open and not self.lasting

    def add(self, record: Record) -> None:
        number, result = record.nr, record.result
        if result < 0:
            return
        if number in _FORK:
            if not (number == 56 and record.args[0] & _CLONE_THREAD) and not _makes_thread(record):
                self.children.add(result)
        elif number == _WAIT4:
            self.children.discard(result)
        elif number == _WAITID:
            self.children.clear()
        elif number == _CLOSE:
            self._close(record.args[0])
        elif number == _CLOSE_RANGE:
            first, last = record.args[0], record.args[1]
            for descriptor in [one for one in self.open if first <= one <= last]:
                self._close(descriptor)
            self.lasting |= first < len(_STANDARD)
        elif number in _PAIRS:
            pair = record.written(record.args[_PAIRS[number]], 8)
            self.open.update(int.from_bytes(pair[at : at + 4], "little") for at in (0, 4))
        elif number in _LASTING:
            self.lasting = True
        elif number != _FCNTL or record.args[1] in _F_DUPFD:
            self.open.add(result)
            self.lasting |= result in _STANDARD

    def _close(self, descriptor: int) -> None:
        self.open.discard(descriptor)
        self.lasting |= descriptor in _STANDARD


def _makes_thread(record: Record) -> bool:
    return any(chunk.addr == 0 and chunk.note == 6 for chunk in record.chunks)  # Note.THREAD


def check_beginning(recording: RankRecording, cut: int) -> None:
    """What it had open at its first event is known, and so what it has at later ones."""
    lost = recording.no_beginning
    if isinstance(lost, DamagedRecording):
        return  # the log is there: of a later image it says what was open
    if lost is not None or not any(one.event <= cut for one in recording.images):
        raise RdbError(
            f"rank {recording.name} begins at event {recording.first_event}: what it had open then "
            "is not known",
            "record it without --keep",
        )


def first_image(recording: RankRecording) -> Checkpoint:
    """That of the beginning, whole."""
    lost = recording.no_beginning
    if isinstance(lost, DamagedRecording):
        raise lost
    first = recording.images[0]
    check_image(recording.path, recording.files_dir, first.number)
    return first


def start_images(recording: RankRecording, cut: int) -> list[Checkpoint]:
    """The images to replay from that lack nothing, the newest one first; they may be damaged.

    Refuses what the log says that nobody could bring back.
    """
    index = recording.index
    images = [one for one in recording.images if one.event <= cut]
    check_beginning(recording, cut)
    first = [one for one in images if one.event == 0]
    # of a branch what it began with is known, and only at its beginning
    world = World(lasting=(recording.path / "descriptors").exists())
    whole, following = first, images[len(first) :]
    for place in index.of_calls(*_CALLS):
        record = index.record(place)
        while following and following[0].event < record.event:
            image = following.pop(0)
            whole = [image, *whole] if world.bare else whole
        if record.event > cut:
            break
        world.add(record)
    for image in following:
        whole = [image, *whole] if world.bare else whole
    if world.children:
        raise RdbError(
            f"rank {recording.name} has {len(world.children)} child processes at event {cut}: "
            "they cannot be brought back",
            "choose an event before they were started or after they were waited for",
        )
    called = _libraries(recording, cut)
    branch = (recording.path / "descriptors").exists()
    began_in_mpi = (recording.path / "mpi-objects").exists()
    began_in_verbs = (recording.path / "verbs-objects").exists()
    if _MPI in called and branch and not began_in_mpi and not _begins_mpi(recording):
        raise RdbError(
            f"rank {recording.name} began in MPI: it is a branch that an older rdb has made",
            "restart the job that it is a branch of",
        )
    # what it made in MPI, verbs and sockets is followed from the beginning
    followed = bool(called & {_MPI, _VERBS}) or uses_sockets(recording, cut)
    return first if followed or began_in_mpi or began_in_verbs else whole


def _begins_mpi(recording: RankRecording) -> bool:
    """It calls MPI_Init itself: what it is a branch of had not."""
    begins = ("MPI_Init", "MPI_Init_thread")
    numbers = frozenset(int(one["nr"]) for one in mpi_functions() if one["name"] in begins)
    return bool(recording.index.of_hypercalls(numbers))


def _libraries(recording: RankRecording, cut: int) -> set[int]:
    """Those below the gate that were called up to that event."""
    index = recording.index
    return {
        index.number(place) >> _NAMESPACE_SHIFT
        for place in index.of_kind(Kind.HYPERCALL)
        if index.brief(place)[1] <= cut
    }
