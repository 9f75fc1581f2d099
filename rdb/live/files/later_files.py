"""Ordinary files that the job wrote to after the cut: the branch must not see these writes.

The branch opens copies with the content at the cut (files_before.py). Files whose content at the
cut is not known are named.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import BinaryIO

from rdb.live.files.appended import appended
from rdb.live.files.attributes import Attributes, attributes_of, give, owner_is_lost
from rdb.live.files.copying import copy_bytes
from rdb.live.files.file_order import MPI_FILES, FilePlan
from rdb.live.files.files_before import (
    Change,
    Content,
    Names,
    Was,
    changes_of,
    now,
    place_of,
    programs_of,
)
from rdb.live.files.files_held import (
    Opening,
    filled_from_elsewhere,
    held,
    held_by,
    written_by_others,
)
from rdb.live.files.own_places import FOLDER, LIST, own_places
from rdb.live.files.relatives import changed_by_others
from rdb.live.tree.plan import TreePlan
from rdb.live.tree.processes import Node, Tree
from rdb.private import make_directory, opener
from rdb.recording import Job, RankRecording
from rdb.recording.log.record import EndKind

_RANKS = "later-ranks"
_NAMES = "later-links"  # further names of copies, which the program does not know
_OWN = re.compile(r"/rank-\d+/file-\d+-[^/]*$")
_PAGE = 4096
_LARGEST = 1 << 30  # larger directories are not copied


@dataclass(slots=True)
class LaterFiles:
    copies: dict[str, int | None] = field(default_factory=dict)
    """Path -> size of the copy in bytes; None: the file did not exist."""
    left: list[str] = field(default_factory=list)
    """Lines for the user about files without a copy."""
    sources: dict[str, str] = field(default_factory=dict)
    """Path -> the copy that the job has, if it is itself a branch."""
    kept: dict[str, Content] = field(default_factory=dict)
    """Path -> content to copy, if that is not the file at the path now."""
    links: dict[str, str] = field(default_factory=dict)
    """Path -> target of the link."""
    folders: dict[str, str] = field(default_factory=dict)
    """Path -> path of the directory now; "": it was empty."""
    fifos: set[str] = field(default_factory=set)
    """Fifos that no longer exist."""
    bases: dict[str, str] = field(default_factory=dict)
    """Path of a file that the job appended to -> the file that has its content of before now, if
    that is not the file at the path; "": none has."""
    given: set[str] = field(default_factory=set)
    """Files open for writing at the cut, or left by one of several ranks: the process that has
    the content makes a copy, which the others open.  Without a copy they open the file itself."""
    appended: set[str] = field(default_factory=set)
    """Copies that processes which had the file open at the cut open again."""
    ranks: set[int] = field(default_factory=set)
    """Ranks that give each other the files in `given`."""
    shown: set[str] = field(default_factory=set)
    """Copies to name to the user, as the path has another content now."""
    linked: list[str] = field(default_factory=list)
    """Lines about files with names that a branch with copies does not know."""
    refused: list[str] = field(default_factory=list)
    """Lines about files that --kept-budget did not allow to keep."""
    users: dict[str, set[int]] = field(default_factory=dict)
    """Ranks that open a file for writing."""
    attributes: dict[str, Attributes] = field(default_factory=dict)
    """Path -> attributes of the copy; names of one file have the same object."""
    open: dict[str, Content] = field(default_factory=dict)
    """Files open for writing that all ranks go on with, each at its own offset."""
    real: set[str] = field(default_factory=set)
    """Files of several ranks without a copy: all ranks use the file itself."""

    def lines(self) -> list[str]:
        return [
            f"file {path}: "
            + ("not there" if size is None else f"{size} bytes, as it was at the cut")
            for path, size in sorted(self.copies.items())
            if path in self.shown
        ] + [
            f"{path}: {what}, as it was at the cut"
            for what, found in (
                ("a link", self.links),
                ("a directory", self.folders),
                ("a fifo", self.fifos),
            )
            for path in sorted(found)
        ]


def later_files(
    job: Job,
    events: Mapping[int, int],
    trees: Mapping[int, TreePlan] | None = None,
    of_mpi: FilePlan | None = None,
) -> LaterFiles:
    """What the branch finds in ordinary files at the cut EVENTS.

    TREES: the plans of ranks that have child processes at the cut. OF_MPI: what the branch finds in
    files of MPI; of a file that is one of these, too, one of the two plans keeps a copy.
    """
    places = own_places(job.path)
    paths = {place.removeprefix("+"): path for path, place in places.items()}
    plan = LaterFiles(sources={path: one for path, one in places.items() if one[0] != "+"})
    later: list[Change] = []
    before: set[str] = set()
    lacking: set[str] = set()
    names = Names(plan.sources)
    opened: dict[str, list[tuple[Change, bool]]] = defaultdict(list)
    linked: dict[str, str] = {}
    for rank, event in events.items():
        for recording, until in _programs(job.rank(rank), event, (trees or {}).get(rank)):
            _say_end(plan, recording)
            for one in changes_of(recording, rank):
                if _OWN.search(one.path):
                    continue
                one = _by_its_path(one, paths)
                has_name(names, one)
                after = one.event > until
                if after:
                    later.append(one)
                elif one.noted is not None and one.other == one.noted.path:  # link(2)
                    linked[one.path] = one.other
                if not after:
                    before.add(one.path)
                    if Path(one.path).parent == job.path / MPI_FILES:
                        lacking.add(one.path)
                if one.opens:
                    opened[one.path].append((one, after))
    plan.left += [
        f"{path}: {job.name} has changed this copy of a file of MPI by system calls, too: the new "
        "branch's copy lacks this data"
        for path in sorted(lacking)
    ]
    others = changed_by_others(job, _cut_ns(job, events), plan.sources, plan.left)
    for one in others:
        has_name(names, one)
    later += others
    for path, all_of in opened.items():
        plan.users[path] = {one.rank for one, _ in all_of}
        if len(plan.users[path]) > 1:
            plan.real.add(path)
    open_at_cut: set[str] = set()
    inherited: set[str] = set()
    processes: list[_Processes] = []
    for rank, event in events.items():
        openings = _held(job.rank(rank), event, (trees or {}).get(rank))
        open_at_cut |= {one.path for one in openings}
        if (one_rank := _processes(job.rank(rank), event, (trees or {}).get(rank))) is None:
            continue
        processes.append(one_rank)
        inherited |= one_rank.inherited
        plan.left += [
            f"{path}: a process that has ended wrote to it through a descriptor of its parent, "
            "which is still open: the branch's copy lacks this data"
            for path in sorted({one.path for one in one_rank.unseen & openings})
        ]
    if trees and len(events) == 1:
        plan.given = open_at_cut
    elif not trees and len(events) > 1:
        plan.given = open_at_cut | {path for path, one in places.items() if one[0] == "+"}
    first: dict[str, int] = {}
    for one in later:
        first[one.path] = min(one.at_ns, first.get(one.path, one.at_ns))
    moved = set() if of_mpi is None else of_mpi.settle(before, first, open_at_cut)
    filled = cache(lambda rank: filled_from_elsewhere(job.rank(rank), events[rank]))
    for path, content in names.before(later).items():
        if path in names.attributes:
            plan.attributes[path] = names.attributes[path]
        if path in moved:
            continue
        if content.was is Was.KEPT and content.place != place_of(plan.sources, path):
            plan.bases[path] = "" if content.lost() else content.place
        elif content.was not in (Was.KEPT, Was.SAME):
            plan.bases[path] = ""
        if not (
            path in open_at_cut
            or (
                content.was in (Was.SAME, Was.LOST)
                and not trees
                and path not in inherited
                and _followed(opened[linked.get(path, path)], filled)
            )
        ):
            sort_out(plan, path, content)
        elif len(events) > 1 and not trees:
            plan.given.add(path)
    for of_rank in processes if len(events) == 1 else []:
        _appended(plan, names, of_rank)
    say_all(plan, names)
    for path in moved:  # as it began with it, if it is a branch
        plan.copies.pop(path, None)
        plan.shown.discard(path)
    plan.real.difference_update(plan.copies)
    if len(events) > 1 and not trees:
        plan.given.difference_update(plan.real)
        plan.ranks = set(events)
    return plan


def _cut_ns(job: Job, events: Mapping[int, int]) -> int:
    """When the first rank came to the cut (CLOCK_REALTIME); its beginning has no event."""
    return min(
        job.rank(rank).event(event).at_ns if event else int(job.meta.get("created_ns", 0))
        for rank, event in events.items()
    )


def _say_end(plan: LaterFiles, recording: RankRecording) -> None:
    end = recording.end
    if end is not None and end.kind in (EndKind.BUDGET, EndKind.DISK):
        plan.left.append(
            f"process {recording.name}: {end.state}; the branch sees the current contents of the "
            "files that it wrote to later"
        )


def _by_its_path(one: Change, paths: Mapping[str, str]) -> Change:
    """ONE with the original paths in place of the branch's copies; PATHS: copy -> original."""
    noted = one.noted
    if noted is not None:
        noted = replace(noted, path=paths.get(noted.path, noted.path))
    return replace(one, path=paths.get(one.path, one.path), noted=noted)


def has_name(names: Names, one: Change) -> None:
    if one.noted is not None:
        inode = one.noted.attributes.inode
        names.names[inode].add(one.noted.path)
        if one.other == one.noted.path:  # link(2)
            names.names[inode].add(one.path)


def say_all(plan: LaterFiles, names: Names) -> None:
    """Adds what the branch has had all along, and what cannot be as it was."""
    _say_folders(plan, names.folders)
    _as_it_began(plan)
    _say_attributes(plan)
    for path, more in sorted(names.unknown_names().items()):
        say_linked(plan, path, more)


def say_linked(plan: LaterFiles, path: str, more: int) -> None:
    names = "1 more name" if more == 1 else f"{more} more names"
    plan.linked.append(
        f"{path}: the file has {names} in other directories: what is there now stays there"
    )


def _say_folders(plan: LaterFiles, folders: Mapping[str, Attributes]) -> None:
    for path, had in folders.items():
        try:
            there = os.lstat(place_of(plan.sources, path))
        except OSError:
            continue
        mine = (had.mode, had.uid, had.gid)
        if mine != (there.st_mode, there.st_uid, there.st_gid) or had.xattrs or had.lost:
            plan.left.append(
                f"{path}: the directory's mode, owner or extended attributes were changed after "
                "the cut: the branch sees the current ones"
            )


def _say_attributes(plan: LaterFiles) -> None:
    for path, had in plan.attributes.items():
        if path not in plan.copies or plan.copies[path] is None:
            continue
        if owner_is_lost(had):
            owner = f"{had.uid}:{had.gid}"
            plan.left.append(f"{path}: its owner was {owner}; the branch's copy belongs to you")
        plan.left += [
            f"{path}: its extended attribute {name} was changed after the cut, and the old value "
            "is not known or you may not set it: the branch's copy lacks the attribute"
            for name in (*had.lost, *had.not_allowed())
        ]


def _programs(
    top: RankRecording, event: int, tree: TreePlan | None
) -> Iterator[tuple[RankRecording, int]]:
    """The programs that ran for a rank, each with its last event before the cut."""
    if tree is not None:
        for node, place in tree.places.items():
            for number, program in enumerate(node.programs):
                yield program, place - node.bases[number]
        return
    yield top, event
    at_ns = top.event(event).at_ns if event else 0
    for program in programs_of(top)[1:]:
        yield program, _by_time(program, at_ns)


def _held(top: RankRecording, event: int, tree: TreePlan | None) -> set[Opening]:
    """Files that the rank's processes have open at the cut; each process opens its own again."""
    if tree is None:
        return set(held([(top, event)], {}).values())
    return {path for node in tree.lives for path in held_by(node, tree.places[node]).values()}


@dataclass(frozen=True, slots=True)
class _Processes:
    """The processes of a rank, each with its place at the cut."""

    tree: Tree
    places: Mapping[Node, int]
    made: list[Node]
    """Those that the restart makes again."""

    @property
    def unseen(self) -> set[Opening]:
        """Files that processes wrote to which the restart does not make again."""
        main = self.tree.main
        return written_by_others(self.tree, self.made, main.at_ns(self.places[main]))

    @property
    def inherited(self) -> set[str]:
        """Files that a child of the first process inherited; the parent's log alone does not show
        their closing.
        """
        top = self.tree.top
        return {
            one.path
            for node in self.tree.nodes
            if node.parent is top and node.forked <= self.places[top]
            for one in held_by(top, node.forked).values()
        }


def _processes(top: RankRecording, event: int, plan: TreePlan | None) -> _Processes | None:
    """None: the rank has no child processes, and a restart begins with its last program."""
    if plan is not None:
        return _Processes(plan.tree, plan.places, plan.made)
    if not event or not any(top.path.glob("child-*")):
        return None
    tree, at_ns = Tree(top), top.event(event).at_ns
    places = {one: one.by_time(at_ns) for one in tree.nodes} | {tree.top: event}
    return _Processes(tree, places, [tree.top])


def _appended(plan: LaterFiles, names: Names, processes: _Processes) -> None:
    """Adds the files that several processes have opened separately and append to."""
    found = appended(processes.tree, processes.places)
    for path, size in found.sizes.items():
        content = names.known.get(path) or now(place_of(plan.sources, path))
        if content.was is not Was.KEPT or content.lost() or content.size_bytes < size:
            found.unknown.add(path)
            continue
        plan.copies[path], plan.kept[path] = size, content
        plan.given.discard(path)
        plan.shown.add(path)
        plan.appended.add(path)
    plan.left = [
        line for line in plan.left if not any(line.startswith(f"{one}: ") for one in plan.appended)
    ]
    plan.left += [
        f"{path}: several processes have written to it, each through an open file of its own: the "
        "branch's copy lacks what all but one of them had written"
        for path in sorted(found.unknown)
    ]


def _by_time(program: RankRecording, at_ns: int) -> int:
    """The program's last event before AT_NS."""
    until = -1
    for record in program.records():
        if record.at_ns > at_ns:
            break
        if record.kind.is_event:
            until = record.event + record.repeat
    return until


def _as_it_began(plan: LaterFiles) -> None:
    """Adds the copies that the job, itself a branch, began with and has not changed."""
    for path, place in plan.sources.items():
        found = (plan.copies, plan.links, plan.folders, plan.fifos)
        if not any(path in one for one in found) and not any(
            line.startswith(f"{path}: ") for line in plan.left
        ):
            there = Path(place)
            _began(plan, path, there)


def _began(plan: LaterFiles, path: str, there: Path) -> None:
    if there.is_symlink():
        plan.links[path] = str(there.readlink())
    elif there.is_dir():
        plan.folders[path] = str(there)
    elif there.is_fifo():
        plan.fifos.add(path)
    else:
        plan.copies[path] = there.stat().st_size if there.exists() else None
        if there.exists():
            plan.attributes[path] = attributes_of(there.stat())
        plan.shown.add(path)


def _followed(opened: list[tuple[Change, bool]], filled: Callable[[int], set[str]]) -> bool:
    """Whether one rank, replayed to the cut, makes the file's content itself.

    FILLED: the files of a rank into which it has copied what a replay does not know.  See
    restart/copies/own_files.h.
    """
    before = [one for one, after in opened if not after]
    if not before or len({one.rank for one, _ in opened}) > 1:
        return False
    rank = before[0].rank
    known = any(
        not one.size_bytes
        or one.flags & (os.O_TRUNC | os.O_EXCL)
        or (one.before is not None and one.before.was is not Was.LOST)
        for one in before
    )
    return known and filled(rank).isdisjoint(one.path for one in before)


def lacks_files(recording: RankRecording, image: int, cut: int) -> bool:
    """Whether a replay from an image at event IMAGE would lack a file's content.

    That is so if the program had opened the file before IMAGE, and the file changed after CUT.
    """
    changes = list(changes_of(recording, recording.rank))
    later = {one.path for one in changes if one.event > cut}
    later |= {one.other for one in changes if one.event > cut}
    return any(
        one.event <= image and (one.path in later or not os.path.exists(one.path))
        for one in changes
        if one.opens
    )


def sort_out(plan: LaterFiles, path: str, content: Content) -> None:
    place = place_of(plan.sources, path)
    there = now(place)
    if content.was in (Was.ABSENT, Was.EMPTY):
        if content.was is Was.EMPTY or there.was is not Was.ABSENT:
            plan.shown.add(path)
        plan.copies[path] = None if content.was is Was.ABSENT else 0
    elif content.was is Was.KEPT and not content.lost():
        had = plan.attributes.get(path)
        same = (content.place, content.size_bytes) == (place, there.size_bytes)
        if not same or (had is not None and not had.hold_for(os.lstat(place))):
            plan.shown.add(path)
            plan.copies[path] = content.size_bytes
            plan.kept[path] = content
    elif content.was is Was.LINK:
        if there != content:
            plan.links[path] = os.path.join(os.path.dirname(path), content.place)
    elif content.was is Was.FIFO:
        if there.was is not Was.FIFO:
            plan.fifos.add(path)
    elif content.was is Was.DIRECTORY and _fits(content.place):
        # also one that has got its name back: the branch may rename it, too
        plan.folders[path] = content.place
    elif content.over_budget:
        plan.refused.append(
            f"{path}: {content.when}, when "
            f"--kept-budget was spent: its earlier {content.size_bytes} bytes were not kept"
        )
    else:
        why = content.damage() or "its earlier content is not known"
        plan.left.append(f"{path}: {content.when}, and {why}: the branch sees the current content")


def _fits(folder: str) -> bool:
    """Whether a renamed directory is small enough to copy; "" stands for an empty one."""
    if not folder:
        return True
    sizes = (
        os.lstat(os.path.join(below, name)).st_size
        for below, _, names in os.walk(folder)
        for name in names
    )
    return sum(sizes) <= _LARGEST


def write_later(plan: LaterFiles, branch: str, moved: Mapping[str, Path]) -> dict[str, Path]:
    """Makes the copies, and writes the list of them for the ranks.

    In the list (restart/copies/written_copies.c) a file without a place is the real one for all
    ranks. MOVED: the branch's copies of MPI files, which every process opens. Returns the place of
    each copy.
    """
    names = sorted({*plan.copies, *plan.links, *plan.folders, *plan.fifos, *plan.open})
    if not names and not moved and not plan.real and not plan.bases and not plan.given:
        return {}
    folder = Path(branch) / FOLDER
    if names or plan.given:
        make_directory(str(folder))
    places, listed = dict(moved), dict(moved)
    for number, path in enumerate(names):
        above = next((str(one) for one in Path(path).parents if str(one) in places), None)
        if above is None:
            places[path] = listed[path] = folder / f"{number}-{Path(path).name[:200]}"
        else:
            places[path] = places[above] / os.path.relpath(path, above)
            if path in plan.open:
                listed[path] = places[path]
        _make(plan, path, places[path])
    _link(plan, {path: places[path] for path in names if plan.copies.get(path) is not None}, branch)
    text = "".join(
        f"{'!' if path in plan.appended else '*' if path in plan.open else ''}{place}\t{path}\n"
        for path, place in sorted(listed.items())
    )
    text += "".join(f"\t{path}\n" for path in sorted(plan.real.difference(listed)))
    text += "".join(f"={place}\t{path}\n" for path, place in sorted(plan.bases.items()))
    for number, path in enumerate(sorted(plan.given.difference(listed)), len(names)):
        text += f"+{folder / f'{number}-{Path(path).name[:200]}'}\t{path}\n"
    encoded = os.fsencode(text)
    encoded += b"" if len(encoded) % _PAGE else b"\n"
    with open(os.path.join(branch, LIST), "xb", opener=opener) as file:
        file.write(encoded)
    if plan.given and plan.ranks:
        with open(os.path.join(branch, _RANKS), "x", opener=opener) as ranks:
            ranks.writelines(f"{rank}\n" for rank in sorted(plan.ranks))
    return listed


def give_nothing(branch: str) -> None:
    """Lets no rank give files to others, as not all ranks see the branch's directory."""
    Path(branch, _RANKS).unlink(missing_ok=True)


def _make(plan: LaterFiles, path: str, place: Path) -> None:
    if os.path.isdir(place) and not place.is_symlink() and path not in plan.folders:
        shutil.rmtree(place)
    elif os.path.lexists(place) and path not in plan.folders:
        place.unlink()
    if path in plan.links:
        os.symlink(plan.links[path], place)
    elif path in plan.fifos:
        os.mkfifo(place, 0o600)
    elif path in plan.folders:
        if plan.folders[path]:
            shutil.copytree(plan.folders[path], place, symlinks=True, copy_function=_copy_entry)
        else:
            place.mkdir()
    elif path in plan.open:
        had = plan.open[path]
        _copy(had.place, place, had.size_bytes)
        give(place, replace(attributes_of(os.stat(had.place)), mode=had.mode), had.place)
    else:
        size = plan.copies[path]
        kept = plan.kept.get(path)
        if size is not None:
            source = kept.place if kept else place_of(plan.sources, path)
            _copy(source, place, size)
            if path in plan.attributes:
                give(place, plan.attributes[path], source if os.path.exists(source) else "")
            elif kept is not None:
                place.chmod(kept.mode & 0o777 | 0o600)


def _copy_entry(source: str, target: str) -> None:
    """Copies what is in a directory.  Sockets and devices are left out: they cannot be copied."""
    mode = os.lstat(source).st_mode
    if stat.S_ISFIFO(mode):
        os.mkfifo(target)
        shutil.copystat(source, target)
    elif stat.S_ISREG(mode):
        shutil.copy2(source, target)


def _link(plan: LaterFiles, copies: Mapping[str, Path], branch: str) -> None:
    """Makes the copies of one file's names links to one copy, with the link count of the file."""
    same: dict[tuple[object, ...], list[Path]] = defaultdict(list)
    for path, place in copies.items():
        had = plan.attributes.get(path)
        if had is not None and had.links > 1:
            key = (had.inode, had.modified_ns, had.mode, had.links, plan.copies[path])
            same[key].append(place)
    for number, ((*_, links, _size), places) in enumerate(same.items()):
        first, *others = places
        for place in others:
            place.unlink()
            os.link(first, place)
        more = int(str(links)) - len(places)
        if more > 0:
            make_directory(os.path.join(branch, _NAMES))
        for name in range(more):
            os.link(first, os.path.join(branch, _NAMES, f"{number}-{name}"))


def _copy(path: str, place: Path, size: int) -> None:
    with open(place, "xb", opener=opener) as to:
        if not size:
            return
        with _opened(path) as source:
            copy_bytes(source.fileno(), to.fileno(), size, path)


def _opened(path: str) -> BinaryIO:
    """Opens a file for reading, also a branch's copy whose mode forbids its owner to read it."""
    try:
        return open(path, "rb")
    except PermissionError:
        mode = os.stat(path).st_mode
        os.chmod(path, mode | stat.S_IRUSR)
        try:
            return open(path, "rb")
        finally:
            os.chmod(path, stat.S_IMODE(mode))


def later_copies(branch: Path) -> list[Path]:
    """The copies that the branch began with or has made."""
    folder = branch / FOLDER
    return sorted(one for one in folder.glob("*") if not one.is_fifo()) if folder.is_dir() else []
