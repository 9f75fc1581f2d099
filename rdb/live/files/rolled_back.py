"""`rdb restart --in-place` of a job without a log: its files get the content that they had.

What a file is to contain may now be in another one, so all is copied first (`rolling-back` in the
job's directory). If rdb is killed in the middle, the next restart begins with the rest.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from rdb.checked import from_json, to_json
from rdb.errors import RdbError
from rdb.live.files.copying import copy_bytes
from rdb.live.files.later_files import LaterFiles, write_later
from rdb.live.files.lives import note
from rdb.live.files.own_places import LIST
from rdb.live.files.undone import Undone
from rdb.private import make_directory, opener

_STAGED = "rolling-back"
_PLAN = "plan.json"


def roll_back(found: Undone, job: Path, number: int, branch: str) -> list[str]:
    """Rolls the files of JOB back to checkpoint NUMBER, for BRANCH.

    Returns a line for each file that is left as it is.
    """
    plan = found.later
    plan.open.update(found.open)
    staged = job / f".{_STAGED}"
    shutil.rmtree(staged, ignore_errors=True)
    make_directory(str(staged))
    places = write_later(plan, str(staged), {})
    put = {path: os.path.relpath(_place(places, path), staged) for path in _there(plan)}
    gone = sorted((path for path, size in plan.copies.items() if size is None), reverse=True)
    told = {
        **{"number": number, "put": put, "gone": gone, "touched": sorted(found.touched)},
        "moved": sorted(set(plan.folders.values())),  # directories that have another name now
    }
    with open(staged / _PLAN, "x", encoding="utf-8", opener=opener) as file:
        file.write(to_json(told))
    staged.rename(job / _STAGED)
    left = finish(job, branch)
    with open(os.path.join(branch, LIST), "wb", opener=opener) as lines:
        lines.write(b"@\t/\n")
    return left


def finish(job: Path, branch: str | None = None) -> list[str]:
    """Does what is left of a roll-back, if anything."""
    staged = job / _STAGED
    if not staged.is_dir():
        return []
    told = from_json((staged / _PLAN).read_text(encoding="utf-8"))
    left: list[str] = []
    for path in told["gone"]:
        if path in told["moved"]:
            shutil.rmtree(path, ignore_errors=True)
        left += _remove(path, told["touched"])
    for path, place in sorted(told["put"].items()):
        try:
            _put(path, staged / place)
        except OSError as error:
            raise RdbError(
                f"{path} cannot be rolled back: {error.strerror}",
                "make that possible, and restart again; until then some files are rolled back",
            ) from error
    note(job, int(told["number"]), branch)
    shutil.rmtree(staged)
    return left


def _there(plan: LaterFiles) -> set[str]:
    files = {path for path, size in plan.copies.items() if size is not None}
    return {*files, *plan.links, *plan.folders, *plan.fifos, *plan.open}


def _place(places: dict[str, Path], path: str) -> Path:
    if path in places:
        return places[path]
    above = next(one for one in Path(path).parents if str(one) in places)
    return places[str(above)] / os.path.relpath(path, above)


def _remove(path: str, touched: Sequence[str]) -> Iterator[str]:
    """Removes PATH and what the job has put below it since; a line, if something else is there."""
    for below in sorted((one for one in touched if one.startswith(path + "/")), reverse=True):
        yield from _remove_one(below)
    yield from _remove_one(path)


def _remove_one(path: str) -> Iterator[str]:
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.rmdir(path)
        else:
            os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield f"{path}: it was made after the checkpoint, and cannot be removed: {error.strerror}"


def _put(path: str, place: Path) -> None:
    """Gives PATH what is at PLACE; an existing file keeps its inode."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    here, wanted = _kind(path), _kind(str(place))
    if here is not None and here != wanted:
        if here == stat.S_IFDIR:
            os.rmdir(path)
        else:
            os.unlink(path)
    if wanted == stat.S_IFDIR:
        shutil.copytree(place, path, symlinks=True, dirs_exist_ok=True)
    elif wanted == stat.S_IFLNK:
        if here == wanted:
            os.unlink(path)
        os.symlink(place.readlink(), path)
    elif wanted == stat.S_IFIFO:
        if here != wanted:
            os.mkfifo(path, stat.S_IMODE(place.lstat().st_mode))
    else:
        with open(place, "rb") as source, open(path, "wb") as to:
            copy_bytes(source.fileno(), to.fileno(), os.fstat(source.fileno()).st_size, str(place))
        shutil.copystat(place, path)
        _give_owner(path, place.stat())


def _give_owner(path: str, had: os.stat_result) -> None:
    there = os.stat(path)
    if os.geteuid() == 0 and (had.st_uid, had.st_gid) != (there.st_uid, there.st_gid):
        os.chown(path, had.st_uid, had.st_gid)


def _kind(path: str) -> int | None:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except FileNotFoundError:
        return None
