"""The jobs in $RDB_HOME."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from rdb.checked import from_json
from rdb.errors import DamagedRecording, RdbError, UnknownJob, VersionMismatch
from rdb.home import home as home_directory
from rdb.private import check_job, check_store
from rdb.recording.processes import Process, ProcessName, find_process, mpi_process, read_process
from rdb.recording.ranges import format_ranks
from rdb.recording.rank import RankRecording
from rdb.recording.state import still_runs

FORMAT = 2  # of job.json and of the directory
_PACK_MAGIC = b"PK\x03\x04"
_NAME_MAX = 255  # bytes of a file's name (limits.h)
_PACKS = ".packs"  # $RDB_HOME/.packs/SHA256/JOB: packs that were opened


def home() -> Path:
    """The directory of all jobs, $RDB_HOME."""
    return Path(home_directory())


class Job:
    """One recorded job: a directory with job.json, files/ and rank-N/ for each rank."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Job({str(self.path)!r})"

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def packed(self) -> bool:
        """Was it unpacked from a pack?  Then all files are here, wherever it was recorded."""
        return self.path.parent.parent == home().resolve() / _PACKS

    @cached_property
    def meta(self) -> dict[str, Any]:
        """job.json, checked.  If it is damaged: the meta data of a rank, and the key "damage".

        Raises NotYours, VersionMismatch, DamagedRecording or OSError.
        """
        check_job(str(self.path))
        path = self.path / "job.json"
        try:
            text = path.read_text(encoding="utf-8")
            meta = json.loads(text)
        except OSError as error:
            os.stat(self.path)  # raises PermissionError if the whole directory is closed to us
            return self._meta_of_ranks(f"{path}: {error.strerror}")
        except ValueError as error:
            offset = error.pos if isinstance(error, json.JSONDecodeError) else 0
            return self._meta_of_ranks(f"{path}: offset {offset}: expected JSON")
        if not isinstance(meta, dict) or "format" not in meta:
            return self._meta_of_ranks(f"{path}: offset 0: expected an object with a format")
        try:
            meta = from_json(text)
        except ValueError as error:
            if "crc32c" in meta or meta["format"] == FORMAT:
                return self._meta_of_ranks(f"{path}: offset 0: {error}")
        if meta["format"] != FORMAT:
            raise VersionMismatch(
                f"{self.name} is a recording of format {meta['format']}, this rdb reads {FORMAT}",
                "record it again, or use the rdb that recorded it",
            )
        return dict(meta)

    def _meta_of_ranks(self, damage: str) -> dict[str, Any]:
        ranks = self._folders()
        for rank in ranks:
            own = RankRecording(self.path / f"rank-{rank}", self.path / "files").glance()
            try:
                said = own.meta
            except RdbError:
                continue
            if not said:
                continue
            return {
                **{"format": FORMAT, "name": self.name, "damage": damage},
                **{"argv": said.get("argv", []), "cwd": said.get("cwd", "not known")},
                **{"created_ns": said.get("started_ns", 0), "nranks": len(ranks)},
                "launcher": "not known",
            }
        raise DamagedRecording(damage)

    @property
    def ranks(self) -> list[int]:
        """Ranks that have a directory, in order."""
        return [rank for rank in self._folders() if not self._never_began(rank)]

    def _folders(self) -> list[int]:
        return sorted(
            int(entry.name.removeprefix("rank-"))
            for entry in self.path.glob("rank-*")
            if entry.name.removeprefix("rank-").isdigit() and entry.is_dir()
        )

    def _never_began(self, rank: int) -> bool:
        """Is it a process that MPI_Comm_spawn was starting when its caller was ended?"""
        with suppress(RdbError, OSError):
            if rank >= (self.meta.get("nranks") or 1):
                return not any((self.path / f"rank-{rank}").iterdir())
        return False

    @property
    def missing(self) -> list[int]:
        """Ranks with which the job was started and that have no directory here."""
        here = set(self.ranks)
        return [rank for rank in range(self.meta.get("nranks") or 0) if rank not in here]

    def rank(self, rank: int | str) -> RankRecording:
        """The recording of a rank, or of one of its processes or programs: 0, "0.1", "0:1".

        A process stands for its newest program, a rank for its process that has loaded MPI.  So
        with `rdb run ./wrapper.sh` rank 0 is the program that the wrapper starts.
        """
        name = ProcessName.parse(rank)
        process = self.process(name.rank)
        if name == ProcessName(name.rank):
            return mpi_process(process).main
        return find_process(process, name).program(name.program)

    def process(self, rank: int) -> Process:
        """A rank's own process with its descendants.  Raises UnknownJob, DamagedRecording."""
        _ = self.meta  # raises for another format before anything is read
        path = self.path / f"rank-{rank}"
        if not path.is_dir():
            known = format_ranks(self.ranks) or "none"
            raise UnknownJob(f"{self.name} has no rank {rank}", f"its ranks: {known}")
        process = read_process(path, self.path / "files", str(rank))
        try:
            behind_wrapper = mpi_process(process) is not process
        except RdbError:  # a log that cannot be read is reported when that process is asked for
            behind_wrapper = False
        if behind_wrapper:
            process.main.name = f"{rank}:{process.programs.index(process.main) + 1}"
        return process

    def address(self, rank: int) -> str:
        """The name that `rank` takes for this rank; in a view, that of the process shown."""
        return str(rank)

    def only(self, name: str) -> Job:
        """A view of this job with only that rank, process or program."""
        return _Only(self, name)

    def all_ranks(self) -> Iterator[RankRecording]:
        return (self.rank(rank) for rank in self.ranks)

    def processes(self) -> Iterator[Process]:
        """The processes of all ranks, each rank's own first."""
        for rank in self.ranks:
            yield from self.process(rank).walk()

    def without(self, ranks: Collection[int]) -> Job:
        """A view of this job without these ranks."""
        return _Without(self, ranks)

    def as_now(self) -> Job:
        """A view that reads each rank's log once, up to where it is then."""
        return _AsNow(self)

    def remove(self) -> None:
        """Deletes the recording.  Raises RdbError if a process of it runs, or for an OS error."""
        check_job(str(self.path))
        for rank in self._folders():  # without job.json: a damaged job can be removed, too
            for process in read_process(
                self.path / f"rank-{rank}", self.path / "files", str(rank)
            ).walk():
                try:
                    running = process.state.lives
                except RdbError:  # a damaged or foreign one does not run
                    running = False
                if running:
                    raise still_runs(process.name, self.name)
        try:
            import shutil  # imported late: opening a recording must be fast

            from rdb.recording.unpacking import forget
            from rdb.temporary import temporary

            if not forget(self.path, home().resolve() / _PACKS):
                # renamed first: a checkpoint written after the end then finds no directory
                gone = temporary(self.path.parent, f"{self.path.name}.removed")
                self.path.rename(gone)
                shutil.rmtree(gone)
        except OSError as error:
            raise RdbError(f"cannot remove {self.path}: {error.strerror}") from error


class _View(Job):
    """A job as seen through another one."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.path)
        self._job = job

    @property
    def name(self) -> str:
        return self._job.name

    @property
    def ranks(self) -> list[int]:
        return self._job.ranks

    @property
    def missing(self) -> list[int]:
        return self._job.missing

    def rank(self, rank: int | str) -> RankRecording:
        return self._job.rank(rank)

    def address(self, rank: int) -> str:
        return self._job.address(rank)


class _Only(_View):
    """A view of a job in which one process stands for its rank."""

    def __init__(self, job: Job, name: str) -> None:
        super().__init__(job)
        self._shown = job.rank(name)

    @property
    def name(self) -> str:
        name, shown = super().name, self._shown
        return name if shown.name == str(shown.rank) else f"{name} {shown.name}"

    @property
    def ranks(self) -> list[int]:
        return [self._shown.rank]

    @property
    def missing(self) -> list[int]:
        return []  # the view has only one rank

    def rank(self, rank: int | str) -> RankRecording:
        return self._shown if rank == self._shown.rank else super().rank(rank)

    def address(self, rank: int) -> str:
        return self._shown.name if rank == self._shown.rank else super().address(rank)


class _Without(_View):
    """A view of a job without some ranks."""

    def __init__(self, job: Job, ranks: Collection[int]) -> None:
        super().__init__(job)
        self._left_out = frozenset(ranks)

    @property
    def ranks(self) -> list[int]:
        return [rank for rank in super().ranks if rank not in self._left_out]

    @property
    def missing(self) -> list[int]:
        return [rank for rank in super().missing if rank not in self._left_out]


class _AsNow(_View):
    """A view of a job that stays as it was when each rank was asked for first."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._opened: dict[int | str, RankRecording] = {}

    @cached_property
    def ranks(self) -> list[int]:
        return super().ranks

    def rank(self, rank: int | str) -> RankRecording:
        if rank not in self._opened:
            self._opened[rank] = super().rank(rank)
        return self._opened[rank]


def list_jobs() -> list[Job]:
    """All jobs, oldest first.  Raises UnknownJob if the store cannot be read, NotYours."""
    check_store(str(home()))
    try:
        entries = [(_made_at(entry), entry) for entry in home().iterdir() if _is_listed(entry)]
    except FileNotFoundError:
        return []
    except OSError as error:
        hint = "is $RDB_HOME right?"
        raise UnknownJob(f"cannot read {home()}: {error.strerror}", hint) from error
    return [Job(path) for _, path in sorted(entries)]


def _made_at(path: Path) -> float:
    """When the job was made, in seconds; 0 if it is another user's, or was just removed."""
    for made in (path / "job.json", path):
        with suppress(OSError):
            return made.stat().st_mtime
    return 0.0


def _is_listed(path: Path) -> bool:
    """Is it a job, also one without job.json?"""
    try:
        return _is_job(path) or _has_ranks(path) or _is_torso(path)
    except (OSError, RdbError):  # another user's, or just removed
        return False


def _has_ranks(path: Path) -> bool:
    return any(path.glob("rank-*/log-000000.seg"))


def _is_job(path: Path) -> bool:
    try:
        return (path / "job.json").is_file()
    except PermissionError:  # most likely another user's; opening it reports the error
        return True


def open_job(name_or_path: str | os.PathLike[str]) -> Job:
    """A job by its name in $RDB_HOME, or by the path of its directory or of a pack.

    Raises UnknownJob, NotYours, VersionMismatch or DamagedRecording.
    """
    text = os.fspath(name_or_path)
    for path in _candidates(text):
        if _is_pack(path):
            from rdb.recording.unpacking import unpacked  # imported late: opening must be fast

            check_store(str(home()))
            job = Job(unpacked(path, home().resolve() / _PACKS))
            _ = job.meta
            return job
        if _is_job(path) or _has_ranks(path):
            if path.parent == home():
                check_store(str(path.parent))
            job = Job(path.resolve())
            _ = job.meta
            return job
    raise _no_job(text)


def find_job(name_or_path: str | os.PathLike[str]) -> Job:
    """As `open_job`, but also finds a damaged job, and one that has only its directory."""
    text = os.fspath(name_or_path)
    for path in _candidates(text):
        if _is_pack(path):
            return open_job(path)
        if _is_job(path) or _has_ranks(path) or _is_torso(path):
            check_job(str(path))
            job = Job(path.resolve())
            with suppress(DamagedRecording):  # VersionMismatch is raised: the job may be whole
                _ = job.meta
            return job
    raise _no_job(text)


def _no_job(text: str) -> UnknownJob:
    """The error for a name that is no job; it may name a file that is no pack."""
    for path in _candidates(text):
        try:
            if path.is_file():
                path.open("rb").close()
                return UnknownJob(f"{path} is a file, but no pack", "`rdb pack JOB` makes one")
        except OSError as error:
            return UnknownJob(f"cannot open {path}: {error.strerror}", "")
    return UnknownJob(f"no job {text!r} in {home()}")


def _is_pack(path: Path) -> bool:
    """Does the file begin as a zip archive?"""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_PACK_MAGIC)) == _PACK_MAGIC
    except OSError:
        return False


def _candidates(text: str) -> list[Path]:
    if not text or any(len(os.fsencode(part)) > _NAME_MAX for part in text.split("/")):
        return []
    return [Path(text)] if "/" in text else [home() / text, Path(text)]


def _is_torso(path: Path) -> bool:
    """Is it the directory of an `rdb run` that was killed before it had written job.json?"""
    if path.parent != home() or path.name.startswith(".") or not path.is_dir():
        return False
    check_job(str(path))
    return {entry.name for entry in path.iterdir()} <= {".job.json", "files"}
