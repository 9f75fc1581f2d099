"""What a restart is to do: of each rank from which image to which event, and what is sent again."""

from __future__ import annotations

from dataclasses import dataclass

from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.live.cut.consistent import Cut, Traffic, uses_mpi
from rdb.live.cut.where import cut_event, names_an_event
from rdb.live.cut.worlds import known_worlds, there, unknown, world_options
from rdb.live.files.file_order import FilePlan, copies
from rdb.live.files.later_files import LaterFiles, lacks_files, later_files
from rdb.live.files.mpi_files_begun import has_words
from rdb.live.refusals.at_event import refused
from rdb.live.refusals.begun import check_begun
from rdb.live.refusals.between import refused_between
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
    """Events whose messages were under way, and which of theirs."""
    options: list[str]
    """For rdb-exec: of which MPI_COMM_WORLD it is."""


@dataclass(frozen=True, slots=True)
class Plan:
    ranks: dict[int, RankPlan]
    cut: Cut
    launched: bool
    """By mpirun."""
    verbs: dict[int, list[str]]
    """Of each rank that uses verbs at the cut its part of the plan (rdb/live/verbs/cut.py)."""
    verbs_begun: dict[int, str]
    """And what it begins with, for restarts of the branch."""
    verbs_under_way: list[str]
    files: FilePlan
    """Of MPI."""
    trees: dict[int, TreePlan]
    """Of each rank that has child processes at the cut."""
    later: LaterFiles
    """Ordinary ones."""
    device: str | None
    """That the first rank with verbs had, if any used them."""
    lost: list[str]
    """What of the recording cannot be used, and what is used instead."""

    def users_of(self, path: str) -> set[int]:
        """Ranks that open that file."""
        return self.files.users.get(path, set()) | self.later.users.get(path, set())


def make_plan(job: Job, rank: int | None, at: str | None) -> Plan:
    """Refuses what cannot be brought back, as far as the recording says."""
    if job.missing:
        raise DamagedRecording(
            f"{job.name}: no recording of rank {format_ranks(job.missing)} is here",
            "a job is restarted with all its ranks",
        )
    job = known_worlds(job)
    first = job.ranks[0] if rank is None else rank
    if first not in job.ranks:
        raise UnknownJob(f"{job.name} has no rank {first}")
    event = cut_event(job.rank(first), at)
    launched = len(job.ranks) > 1 or uses_mpi(job)
    if copies(job.path) and not has_words(job):
        raise RdbError(
            f"{job.name} is a branch with files of MPI that an older rdb has made: what was in "
            "them is not kept",
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
                f"rank {first} is not in MPI yet at event {event}: it is started anew",
                "choose a later event, or one of who has started it",
            )
        refusals += [line for one in job.ranks for line in unknown(job, one, cut.events[one])]
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
        tree = plan_tree(recording, until, of_job=launched)
        if tree is not None:
            check_beginning(recording, until)
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
        later_files(job, cut.events, trees),
        device,
        lost,
    )


def _image(recording: RankRecording, until: int, lost: list[str]) -> int:
    """The newest one that is whole and lacks nothing; of those that are not whole, why."""
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
    """The plan as a user reads it."""
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
        lines.append("checked: nothing was received before it was sent, no collective is cut")
    return lines
