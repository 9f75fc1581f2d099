"""Ordinary files that the recorded job wrote to after the cut: the branch is not to find that.

The branch opens copies of what was in them at the cut (files_before.py); those of which that is not
known are named.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from rdb.live.files.appended import appended
from rdb.live.files.attributes import Attributes, attributes_of, give, owner_is_lost
from rdb.live.files.copying import copy_bytes
from rdb.live.files.files_before import Change, Content, Names, Was, changes_of, now, place_of
from rdb.live.files.files_held import Opening, held, held_by, written_by_others
from rdb.live.tree.plan import TreePlan
from rdb.live.tree.processes import Tree
from rdb.private import make_directory, opener
from rdb.recording import Job, RankRecording
from rdb.recording.log.record import EndKind

_NOT_FOLLOWED = (40, 275, 276, 285, 326, 327, 328)  # sendfile and its kin, fallocate
_FOLDER, _LIST, _RANKS = "later", "later-files", "later-ranks"
_NAMES = "later-links"  # further names of copies, which the program does not know
_OWN = re.compile(r"/rank-\d+/file-\d+-[^/]*$")  # a branch's, which its rank follows
_PAGE = 4096
_LARGEST = 1 << 30  # a directory that is copied


@dataclass(slots=True)
class LaterFiles:
    copies: dict[str, int | None] = field(default_factory=dict)
    """Path -> so many of its bytes are the branch's; None: it was not there."""
    left: list[str] = field(default_factory=list)
    """What is to be said of others."""
    sources: dict[str, str] = field(default_factory=dict)
    """Path -> where the job, a branch itself, has its own copy."""
    kept: dict[str, Content] = field(default_factory=dict)
    """Path -> what was in it, if that is not there."""
    links: dict[str, str] = field(default_factory=dict)
    """Path -> where it led."""
    folders: dict[str, str] = field(default_factory=dict)
    """Path -> where it is now; nowhere: it was empty."""
    fifos: set[str] = field(default_factory=set)
    """That are not there any more."""
    bases: dict[str, str] = field(default_factory=dict)
    """Path -> what begins with what the job appended to, if that is not there; or nowhere."""
    given: set[str] = field(default_factory=set)
    """Open for writing at the cut, or left by a rank of several: other processes find there what
    that one has.  Of some that are none any more nobody puts a copy there."""
    appended: set[str] = field(default_factory=set)
    """Copies that those have open who had the file open at the cut."""
    ranks: set[int] = field(default_factory=set)
    """Those that give each other such files."""
    shown: set[str] = field(default_factory=set)
    """Copies that a user is told of: where something else is now."""
    refused: list[str] = field(default_factory=list)
    """What --kept-budget did not let be kept."""
    users: dict[str, set[int]] = field(default_factory=dict)
    """Ranks that open a file for writing."""
    attributes: dict[str, Attributes] = field(default_factory=dict)
    """Path -> mode, owner and times that a copy has; of the same file: the same one."""
    real: set[str] = field(default_factory=set)
    """Of several ranks, and without a copy: no rank has one of its own."""

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
    job: Job, events: Mapping[int, int], trees: Mapping[int, TreePlan] | None = None
) -> LaterFiles:
    """TREES: of ranks that have child processes at the cut, where these are."""
    places = _places(job.path)
    paths = {place.removeprefix("+"): path for path, place in places.items()}
    plan = LaterFiles(sources={path: one for path, one in places.items() if one[0] != "+"})
    later: list[Change] = []
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
                _has_name(names, one)
                after = one.event > until
                if after:
                    later.append(one)
                elif one.noted is not None and one.other == one.noted.path:  # link(2)
                    linked[one.path] = one.other
                if one.opens:
                    opened[one.path].append((one, after))
    for path, all_of in opened.items():
        plan.users[path] = {one.rank for one, _ in all_of}
        if len(plan.users[path]) > 1:
            plan.real.add(path)
    open_at_cut: set[str] = set()
    inherited: set[str] = set()
    for rank, event in events.items():
        openings = _held(job.rank(rank), event, (trees or {}).get(rank))
        unseen = _unseen(job.rank(rank), event, (trees or {}).get(rank)) & openings
        inherited |= _inherited(job.rank(rank), event)
        open_at_cut |= {one.path for one in openings}
        plan.left += [
            f"{path}: a process that has ended wrote to it by a descriptor of its parent, which "
            "is open still: the branch's copy lacks that"
            for path in sorted({one.path for one in unseen})
        ]
    if trees and len(events) == 1:
        plan.given = open_at_cut
    elif not trees and len(events) > 1:
        plan.given = open_at_cut | {path for path, one in places.items() if one[0] == "+"}
    for path, content in names.before(later).items():
        if path in names.attributes:
            plan.attributes[path] = names.attributes[path]
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
                and _followed(job, path, opened[linked.get(path, path)], events)
            )
        ):
            _sort_out(plan, path, content)
        elif len(events) > 1 and not trees:
            plan.given.add(path)
    if len(events) == 1:
        for rank, event in events.items():
            _appended(plan, names, job.rank(rank), event, (trees or {}).get(rank))
    _say_folders(plan, names.folders)
    _as_it_began(plan)
    _say_attributes(plan)
    plan.real.difference_update(plan.copies)
    if len(events) > 1 and not trees:
        plan.given.difference_update(plan.real)
        plan.ranks = set(events)
    return plan


def _say_end(plan: LaterFiles, recording: RankRecording) -> None:
    end = recording.end
    if end is not None and end.kind in (EndKind.BUDGET, EndKind.DISK):
        plan.left.append(
            f"process {recording.name}: {end.state}; files that it wrote to then are as they are"
        )


def _by_its_path(one: Change, paths: Mapping[str, str]) -> Change:
    """PATHS: of a branch's own files, by where these are."""
    noted = one.noted
    if noted is not None:
        noted = replace(noted, path=paths.get(noted.path, noted.path))
    return replace(one, path=paths.get(one.path, one.path), noted=noted)


def _has_name(names: Names, one: Change) -> None:
    if one.noted is not None:
        inode = one.noted.attributes.inode
        names.names[inode].add(one.noted.path)
        if one.other == one.noted.path:  # link(2)
            names.names[inode].add(one.path)


def _say_folders(plan: LaterFiles, folders: Mapping[str, Attributes]) -> None:
    for path, had in folders.items():
        try:
            there = os.lstat(place_of(plan.sources, path))
        except OSError:
            continue
        mine = (had.mode, had.uid, had.gid)
        if mine != (there.st_mode, there.st_uid, there.st_gid) or had.xattrs or had.lost:
            plan.left.append(
                f"{path}: a directory whose mode, owner or extended attributes were changed after "
                "the cut: the branch finds those that it has now"
            )


def _say_attributes(plan: LaterFiles) -> None:
    for path, had in plan.attributes.items():
        if path not in plan.copies or plan.copies[path] is None:
            continue
        if owner_is_lost(had):
            owner = f"{had.uid}:{had.gid}"
            plan.left.append(f"{path}: it was {owner}'s, and the branch's copy is yours")
        plan.left += [
            f"{path}: its extended attribute {name} was changed after the cut, and what it was is "
            "not known, or not yours to set: the branch's copy is without"
            for name in (*had.lost, *had.not_allowed())
        ]


def _programs(
    top: RankRecording, event: int, tree: TreePlan | None
) -> Iterator[tuple[RankRecording, int]]:
    """All that ran for a rank, and how far it is at the cut."""
    if tree is not None:
        for node, place in tree.places.items():
            for number, program in enumerate(node.programs):
                yield program, place - node.bases[number]
        return
    yield top, event
    at_ns = top.event(event).at_ns if event else 0
    for folder in sorted(top.path.rglob("log-000000.seg")):
        if folder.parent != top.path:
            program = RankRecording(folder.parent, top.files_dir, top.name)
            yield program, _by_time(program, at_ns)


def _held(top: RankRecording, event: int, tree: TreePlan | None) -> set[Opening]:
    """What any of its processes has open for writing at the cut, which each makes again."""
    if tree is None:
        return set(held([(top, event)], {}).values())
    return {path for node in tree.lives for path in held_by(node, tree.places[node]).values()}


def _unseen(top: RankRecording, event: int, tree: TreePlan | None) -> set[Opening]:
    """What was written to by processes that are not made again."""
    if not event or not any(top.path.glob("child-*")):
        return set()
    found = Tree(top)
    lives = {node.number for node in tree.made} if tree is not None else {0}
    made = [node for node in found.nodes if node.number in lives]
    return written_by_others(found, made, top.event(event).at_ns)


def _inherited(top: RankRecording, event: int) -> set[str]:
    """Files that a child got open from it by then: what it had closed of them it does not know."""
    nodes = Tree(top).nodes if event and any(top.path.glob("child-*")) else []
    return {
        one.path
        for node in nodes
        if node.parent is not None and node.parent.parent is None and node.forked <= event
        for one in held_by(node.parent, node.forked).values()
    }


def _appended(
    plan: LaterFiles, names: Names, top: RankRecording, event: int, tree: TreePlan | None
) -> None:
    """Several have written to it, each by itself: what is in it, the file says."""
    if not event or not any(top.path.glob("child-*")):
        return
    of_all = Tree(top)
    if tree is not None:
        places = {node.number: place for node, place in tree.places.items()}
    else:
        at_ns = top.event(event).at_ns
        places = {one.number: one.by_time(at_ns) for one in of_all.nodes} | {0: event}
    found = appended(of_all, places)
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
        f"{path}: several processes have written to it, each by itself: the branch's copy lacks "
        "what others than its own had written"
        for path in sorted(found.unknown)
    ]


def _by_time(program: RankRecording, at_ns: int) -> int:
    """Its last event by then."""
    until = -1
    for record in program.records():
        if record.at_ns > at_ns:
            break
        if record.kind.is_event:
            until = record.event + record.repeat
    return until


def _as_it_began(plan: LaterFiles) -> None:
    """What a branch had from its beginning, and has not changed."""
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


def _followed(
    job: Job, path: str, opened: list[tuple[Change, bool]], events: Mapping[int, int]
) -> bool:
    """One rank has all that is in it at the cut, on its way there (restart/own_files.h)."""
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
    index = job.rank(rank).index
    return known and not any(
        index.brief(place)[1] <= events[rank] for place in index.of_calls(*_NOT_FOLLOWED)
    )


def lacks_files(recording: RankRecording, image: int, cut: int) -> bool:
    """A replay from an image at that event does not know what the program had left in a file that
    is not any more as it was at the cut."""
    changes = list(changes_of(recording, recording.rank))
    later = {one.path for one in changes if one.event > cut}
    later |= {one.other for one in changes if one.event > cut}
    return any(
        one.event <= image and (one.path in later or not os.path.exists(one.path))
        for one in changes
        if one.opens
    )


def _places(job: Path) -> dict[str, str]:
    """Where a branch has its own, also those that its processes have put there (+)."""
    try:
        lines = os.fsdecode((job / _LIST).read_bytes()).splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.removeprefix("!").split("\t", 1) for line in lines if line)
    return {
        path: place
        for place, path in pairs
        if Path(place).parent.name == _FOLDER and place[0] != "="
    }


def _sort_out(plan: LaterFiles, path: str, content: Content) -> None:
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
    elif content.was is Was.DIRECTORY and (content.place == place or _fits(content.place)):
        if content.place != place:
            plan.folders[path] = content.place
    elif content.over_budget:
        plan.refused.append(
            f"{path}: rank {content.rank} wrote to it after the cut (event {content.event}), when "
            f"--kept-budget was spent: its {content.size_bytes} bytes of before were not kept"
        )
    else:
        why = content.damage() or "what was in it before is not known"
        plan.left.append(
            f"{path}: rank {content.rank} wrote to it after the cut (event {content.event}), and "
            f"{why}: the branch finds what is now"
        )


def _fits(folder: str) -> bool:
    """A directory that has another name now can be copied; none: it was empty."""
    if not folder:
        return True
    sizes = (
        os.lstat(os.path.join(below, name)).st_size
        for below, _, names in os.walk(folder)
        for name in names
    )
    return sum(sizes) <= _LARGEST


def write_later(plan: LaterFiles, branch: str, moved: Mapping[str, Path]) -> dict[str, Path]:
    """The copies, and the list for the ranks (interposer/restart/written_copies.c), in which a file
    without a place is the real one for all of them; MOVED: files of MPI that are copies of the
    branch's own, wherever they are opened.  Where all of them are."""
    names = sorted({*plan.copies, *plan.links, *plan.folders, *plan.fifos})
    if not names and not moved and not plan.real and not plan.bases and not plan.given:
        return {}
    folder = Path(branch) / _FOLDER
    if names or plan.given:
        make_directory(str(folder))
    places, listed = dict(moved), dict(moved)
    for number, path in enumerate(names):
        above = next((str(one) for one in Path(path).parents if str(one) in places), None)
        if above is None:
            places[path] = listed[path] = folder / f"{number}-{Path(path).name[:200]}"
        else:
            places[path] = places[above] / os.path.relpath(path, above)
        _make(plan, path, places[path])
    _link(plan, {path: places[path] for path in names if plan.copies.get(path) is not None}, branch)
    text = "".join(
        f"{'!' if path in plan.appended else ''}{place}\t{path}\n"
        for path, place in sorted(listed.items())
    )
    text += "".join(f"\t{path}\n" for path in sorted(plan.real.difference(listed)))
    text += "".join(f"={place}\t{path}\n" for path, place in sorted(plan.bases.items()))
    for number, path in enumerate(sorted(plan.given.difference(listed)), len(names)):
        text += f"+{folder / f'{number}-{Path(path).name[:200]}'}\t{path}\n"
    encoded = os.fsencode(text)
    encoded += b"" if len(encoded) % _PAGE else b"\n"
    with open(os.path.join(branch, _LIST), "xb", opener=opener) as file:
        file.write(encoded)
    if plan.given and plan.ranks:
        with open(os.path.join(branch, _RANKS), "x", opener=opener) as ranks:
            ranks.writelines(f"{rank}\n" for rank in sorted(plan.ranks))
    return listed


def give_nothing(branch: str) -> None:
    """Its ranks do not all see its directory."""
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
            shutil.copytree(plan.folders[path], place, symlinks=True)
        else:
            place.mkdir()
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


def _link(plan: LaterFiles, copies: Mapping[str, Path], branch: str) -> None:
    """Names of one file are names of one copy, which has as many as the file had."""
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
    """A branch's own copy may have a mode by which its owner does not read it."""
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
    """Those that the branch has, or has made."""
    folder = branch / _FOLDER
    return sorted(one for one in folder.glob("*") if not one.is_fifo()) if folder.is_dir() else []
