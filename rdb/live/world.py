"""What a program has outside its memory at an event, as its log shows: descriptors, children.

A restart replays from an image. An image lacks what the program opened before. So nothing that was
opened before the image may still be open. What is opened after the image is followed by
interposer/restart/files/open_files.c.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rdb.errors import DamagedRecording, RdbError
from rdb.live import descriptors
from rdb.live.sockets import uses_sockets
from rdb.recording import Checkpoint, RankRecording
from rdb.recording.checkpoints import check_image
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import Record

# x86-64 system calls, by their effect on the table of descriptors (syscalls(2)).
_OPEN = (2, 41, 43, 85, 213, 253, 257, 282, 283, 284, 288, 289, 290, 291, 294, 298, 319, 434, 437)
_PAIRS = {22: 0, 293: 0, 53: 3}  # pipe, pipe2, socketpair: which argument gets both numbers
_LASTING = (37, 38, 80, 81, 95, 222)  # alarm, setitimer, chdir, fchdir, umask, timer_create
_FORK = (56, 57, 58, 435)  # clone, fork, vfork, clone3
_WAIT4, _WAITID = 61, 247
_CLONE_THREAD = 0x10000
_CALLS = (*_OPEN, *descriptors.CALLS, *_PAIRS, *_LASTING, *_FORK, _WAIT4, _WAITID)
_MPI, _VERBS = 1, 2  # RDB_NS_ in interposer/interface/gate.h
_STANDARD = range(3)


@dataclass
class World:
    """The state after all records added so far, from the beginning."""

    open: set[int] = field(default_factory=set)
    lasting: bool = False  # other state that an image lacks
    children: set[int] = field(default_factory=set)

    @property
    def bare(self) -> bool:
        """Whether an image taken now would lack nothing."""
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
        elif number in descriptors.CALLS:
            for one, source in descriptors.changes(record, {*self.open, *_STANDARD}):
                (self.open.discard if source is None else self.open.add)(one)
                self.lasting |= one in _STANDARD
        elif number in _PAIRS:
            pair = record.written(record.args[_PAIRS[number]], 8)
            self.open.update(int.from_bytes(pair[at : at + 4], "little") for at in (0, 4))
        elif number in _LASTING:
            self.lasting = True
        else:
            self.open.add(result)
            self.lasting |= result in _STANDARD


def _makes_thread(record: Record) -> bool:
    return any(chunk.addr == 0 and chunk.note == 6 for chunk in record.chunks)  # Note.THREAD


def check_beginning(recording: RankRecording, cut: int) -> None:
    """RdbError: the log's beginning was dropped, so what the program had open is not known."""
    lost = recording.no_beginning
    if isinstance(lost, DamagedRecording):
        return  # the log is complete and shows what was open at later images
    if lost is not None or not any(one.event <= cut for one in recording.images):
        raise RdbError(
            f"the recording of rank {recording.name} begins at event {recording.first_event}: its "
            "open files there are not known",
            "record it without --keep",
        )


def first_image(recording: RankRecording) -> Checkpoint:
    """The image of the beginning.  DamagedRecording: it is damaged."""
    lost = recording.no_beginning
    if isinstance(lost, DamagedRecording):
        raise lost
    first = recording.images[0]
    check_image(recording.path, recording.files_dir, first.number)
    return first


def start_images(recording: RankRecording, cut: int) -> list[Checkpoint]:
    """The images to replay from that lack nothing, newest first; they may be damaged.

    RdbError: the log shows something that cannot be brought back.
    """
    index = recording.index
    images = [one for one in recording.images if one.event <= cut]
    check_beginning(recording, cut)
    first = [one for one in images if one.event == 0]
    # a branch's descriptors are known only at its beginning
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
            "choose an event before they were started or after their parent waited for them",
        )
    called = recording.index.libraries(cut)
    branch = (recording.path / "descriptors").exists()
    began_in_mpi = (recording.path / "mpi-objects").exists()
    began_in_verbs = (recording.path / "verbs-objects").exists()
    if _MPI in called and branch and not began_in_mpi and not _begins_mpi(recording):
        raise RdbError(
            f"rank {recording.name} began inside MPI: it is a branch that an older rdb made",
            "restart the job that it is a branch of",
        )
    # objects of MPI, verbs and sockets are followed from the beginning
    followed = bool(called & {_MPI, _VERBS}) or uses_sockets(recording, cut)
    return first if followed or began_in_mpi or began_in_verbs else whole


def _begins_mpi(recording: RankRecording) -> bool:
    """Whether it calls MPI_Init itself, so that its parent had not."""
    begins = ("MPI_Init", "MPI_Init_thread")
    numbers = frozenset(int(one["nr"]) for one in mpi_functions() if one["name"] in begins)
    return bool(recording.index.of_hypercalls(numbers))
