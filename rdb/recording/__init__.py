"""Recordings: jobs in the store, their ranks, their logs."""

from rdb.recording.checkpoints import Checkpoint
from rdb.recording.log.record import Chunk, End, EndKind, Kind, Note, Receive, Record
from rdb.recording.log.threads import RecordedThread, Schedule
from rdb.recording.processes import Process, ProcessName, find_process
from rdb.recording.rank import RankGlance, RankRecording
from rdb.recording.store import FORMAT, Job, find_job, home, list_jobs, open_job

__all__ = [
    "FORMAT",
    "Checkpoint",
    "Chunk",
    "End",
    "EndKind",
    "Job",
    "Kind",
    "Note",
    "Process",
    "ProcessName",
    "RankGlance",
    "RankRecording",
    "Receive",
    "Record",
    "RecordedThread",
    "Schedule",
    "find_job",
    "find_process",
    "home",
    "list_jobs",
    "open_job",
]
