"""Names that a query reads as fields of events, and that are also the program's."""

from __future__ import annotations

from rdb.recording.query.query import Query
from rdb.recording.rank import RankRecording
from rdb.recording.symbols.detached import SYMBOLS
from rdb.recording.symbols.named import files_lack


def hint_of_names(query: Query, recording: RankRecording) -> str:
    """What to write for the program's variables, if a query without the name of an event compares
    fields whose names the executable may have, too; else empty."""
    program = str(recording.meta.get("exe", ""))
    stored = recording.store_path(program)
    symbols = recording.files_dir.parent / SYMBOLS
    both = [
        name
        for name in query.fields_alone
        if stored is not None and not files_lack({program: stored}, symbols, name)
    ]
    if not both:
        return ""
    fields = "is a field of events" if len(both) == 1 else "are fields of events"
    names = " and ".join(both)
    return f"{names} {fields}; if you mean the program's variable write FUNCTION::{both[0]}"
