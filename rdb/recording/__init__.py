"""Reading recordings: jobs in the store, their ranks, their logs."""

from rdb.recording.rank import RankRecording
from rdb.recording.record import Chunk, End, EndKind, Kind, Note, Receive, Record
from rdb.recording.store import FORMAT, Job, home, list_jobs, open_job

__all__ = [
    "FORMAT",
    "Chunk",
    "End",
    "EndKind",
    "Job",
    "Kind",
    "Note",
    "RankRecording",
    "Receive",
    "Record",
    "home",
    "list_jobs",
    "open_job",
]
