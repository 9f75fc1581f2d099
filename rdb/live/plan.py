"""The plan of a restart: for each rank the image and the event, and the messages to send again."""

from __future__ import annotations

from dataclasses import dataclass

from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.live.cut.consistent import Cut, Traffic, uses_mpi
from rdb.live.cut.where import cut_event, names_an_event
from rdb.live.cut.worlds import known_worlds, there, world_options
from rdb.live.files.file_order import FilePlan, copies
from rdb.live.files.later_files import LaterFiles, lacks_files, later_files
from rdb.live.files.mpi_files_begun import has_words
from rdb.live.refusals.at_event import refused
from rdb.live.refusals.begun import check_begun
from rdb.live.refusals.between import refused_between
from rdb.live.tree.beginning import begins_with
from rdb.live.tree.plan import TreePlan, plan_tree, tree_lines
from rdb.live.verbs.cut import VerbsTraffic
from rdb.live.verbs.rank import device_name
from rdb.live.world import check_beginning, first_image, start_images
from rdb.recording import Job, RankRecording
from rdb.recording.checkpoints import check_image
from rdb.recording.ranges import format_ranks


@dataclass(frozen=True, slots=True)
class RankPlan:
    recording: RankRecording
    event: int
    image: int
    sends: list[tuple[int, int]]
    """Sends that are under way: event, and number among the messages of that event."""
    options: list[str]
    """Options of rdb-exec that name the rank's MPI_COMM_WORLD."""


@dataclass(frozen=True, slots=True)
class Plan:
    ranks: dict[int, RankPlan]
    cut: Cut
    launched: bool
    """Whether a launcher starts the ranks."""
    verbs: dict[int, list[str]]
    """The part of the plan for each rank that uses verbs at the cut (rdb/live/verbs/cut.py)."""
    verbs_begun: dict[int, str]
    """Rank -> the verbs objects that it begins with, for later restarts of the branch."""
    verbs_under_way: list[str]
    files: FilePlan
    """MPI files."""
    trees: dict[int, TreePlan]
    """Rank -> the plan of its processes, if more than its last program is made again."""
    later: LaterFiles
    """Ordinary files."""
    device: str | None
    """Name of the device of the first rank with verbs; None: no rank used verbs."""
    lost: list[str]
    """A line for each part of the recording that cannot be used."""

    def users_of(self, path: str) -> set[int]:
        """Ranks that open that file."""
        return self.files.users.get(path, set()) | self.later.users.get(path, set())


def make_plan(job: Job, rank: int | None, at: str | None) -> Plan:
    """The plan of a restart from AT, a place in RANK (None: the first rank).

    RdbError: the recording shows that something cannot be brought back.
    """
    if job.missing:
        raise DamagedRecording(
            f"{job.name}: no recording of rank {format_ranks(job.missing)} is here",
            "a job is restarted with all its ranks",
        )
    job = known_worlds(job.as_now())
    first = job.ranks[0] if rank is None else rank
    if first not in job.ranks:
        raise UnknownJob(f"{job.name} has no rank {first}")
    event = cut_event(job.rank(first), at)
    launched = len(job.ranks) > 1 or uses_mpi(job)
    if copies(job.path) and not has_words(job):
        raise RdbError(
            f"{job.name} is a branch that an older rdb made, without the contents of its MPI files",
            "restart the job that it is a branch of",
        )
    refusals: list[str] = []
    if launched:
        check_begun(job)
        traffic = Traffic(job)
        if not names_an_event(at):
            event = traffic.settled(first, event)
        cut, verbs = traffic.cut(first, event), traffic.verbs
        files = traffic.file_plan(cut)
        job = there(job, traffic.started(), cut.events)
        if first not in job.ranks:
            raise RdbError(
                f"rank {first} has not called MPI_Init yet at event {event}: the ranks that spawn "
                "it start it again",
                "choose a later event, or an event of a rank that spawned it",
            )
        refusals += [line for one in job.ranks for line in traffic.unknown(one, cut)]
        cut = cut.among(job.ranks)
    else:
        cut, verbs, files = Cut({first: event}, []), VerbsTraffic(job), FilePlan()
    verbs_plans, verbs_begun = verbs.plans(cut.events)
    trees: dict[int, TreePlan] = {}
    ranks: dict[int, RankPlan] = {}
    lost: list[str] = []
    options = world_options(job, job.ranks)
    for one in job.ranks:
        recording, until = job.rank(one), cut.events[one]
        programs = begins_with(recording, until)
        tree = plan_tree(recording, until, of_job=launched, programs=programs)
        if tree is not None:
            for program in tree.tree.top.programs:
                check_beginning(program, until)
            trees[one] = tree
        image = first_image(recording).number if tree else _image(recording, until, lost)
        refusals += [] if tree else refused(recording, until)
        ranks[one] = RankPlan(recording, until, image, cut.sent_again(one), options[one])
    refusals += refused_between(job, cut.events, trees)
    if refusals:
        raise RdbError("\nrdb: ".join(refusals), "choose another event")
    device = next((device_name(job.rank(one)) for one in verbs.ranks), None)
    again = [
        f"{one.request.name} of {one.request.size_bytes} bytes by queue pair {pair.number:#x} of "
        f"rank {rank} (event {one.event})"
        for rank, pair, one in verbs.under_way(cut.events)
    ]
    return Plan(
        ranks,
        cut,
        launched,
        verbs_plans,
        verbs_begun,
        again,
        files,
        trees,
        _later(job, cut, trees, files),
        device,
        lost,
    )


def _later(job: Job, cut: Cut, trees: dict[int, TreePlan], files: FilePlan) -> LaterFiles:
    """RdbError: MPI reads a file at the cut whose content only a rank's process will have there."""
    later = later_files(job, cut.events, trees, files)
    for path in sorted(set(files.open_paths).difference(files.moved).intersection(later.given)):
        raise RdbError(
            f"{path}: MPI has it open at the cut, and system calls change it",
            "choose an event at which MPI has it closed",
        )
    return later


def _image(recording: RankRecording, until: int, lost: list[str]) -> int:
    """The newest image that is undamaged and has all files; damaged ones get a line in LOST."""
    damaged = recording.no_beginning
    for image in start_images(recording, until):
        if image.event and lacks_files(recording, image.event, until):
            continue
        try:
            check_image(recording.path, recording.files_dir, image.number)
        except DamagedRecording as error:
            damaged = damaged or error
            lost.append(f"rank {recording.name}: an older checkpoint is used: {error.message}")
        else:
            return image.number
    assert damaged is not None
    raise damaged


def plan_lines(plan: Plan) -> list[str]:
    """The plan's lines for the user."""
    lines = []
    for rank, one in plan.ranks.items():
        what = one.recording.describe(one.event) if one.event else "its beginning"
        lines.append(
            f"rank {rank}: replay from checkpoint {one.image} to event {one.event}, then live, "
            f"after {what}"
        )
    for tree in plan.trees.values():
        lines += tree_lines(tree)
    for message in plan.cut.under_way:
        lines.append(
            f"under way: {message.size_bytes} bytes from rank {message.source} (event "
            f"{message.sent}) to rank {message.destination}: sent again"
        )
    lines += [f"under way: {text}: posted again" for text in plan.verbs_under_way]
    lines += plan.files.lines() + plan.later.lines()
    if plan.launched:
        lines.append("checked: no message is received before it is sent, no collective is cut")
    return lines
