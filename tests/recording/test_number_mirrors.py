"""Numbers that Python repeats are those of the C headers."""

from __future__ import annotations

import importlib
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

INTERPOSER = Path(__file__).parents[2] / "interposer"
HEADERS = (
    "answer/undo.h",
    "interface/agent.h",
    "interface/gate.h",
    "interface/host.h",
    "log/log_index.h",
    "log/log_messages.h",
    "log/log_rows.h",
    "log/log_segment.h",
    "log/log_short.h",
    "mpi/handles.h",
    "restart/checkpoint/board.h",
    "restart/checkpoint/coordinated.h",
)

# Enumeration in Python -> what stands before its names in C.
ENUMS = {
    "rdb.recording.log.record.Kind": "LOG_",
    "rdb.recording.log.record.Note": "RDB_NOTE_",
    "rdb.recording.log.record.EndKind": "LOG_END_",
    "rdb.recording.log.rows.Column": "LOG_ROW_",
    "rdb.recording.mpi.items.What": "LOG_MESSAGE_",
    "rdb.replay.protocol.Op": "AGENT_",
    "rdb.replay.protocol.BreakFlag": "AGENT_BP_",
    "rdb.replay.protocol.RunFlag": "AGENT_RUN_",
    "rdb.replay.protocol.StepFlag": "AGENT_STEP_",
    "rdb.replay.protocol.WatchKind": "AGENT_WATCH_",
    "rdb.replay.protocol.StopReason": "AGENT_STOP_",
    "rdb.live.files.files_before.Was": "RDB_WAS_",
    "rdb.live.files.mpi_files.Was": "RDB_FILE_",
    "rdb.coordinate.board.Verdict": "BOARD_",
    "rdb.coordinate.board.State": "BOARD_",
}

NUMBERS = {
    "rdb.recording.log.entries.TURNS": "LOG_ENTRY_TURNS",
    "rdb.recording.log.entries.KIND_HALF": "offsetof(struct log_entry, kind) / 2",
    "rdb.recording.log.index._NR_WORD": "offsetof(struct log_entry, nr) / 4",
    "rdb.recording.log.entries._REPEAT_WORD": "offsetof(struct log_entry, repeat) / 4",
    "rdb.recording.log.index._AT_NS_WORD": "offsetof(struct log_entry, at_ns) / 8",
    "rdb.recording.log.entries._PLACE_WORD": "offsetof(struct log_entry, place) / 8",
    "rdb.recording.log.index._THREAD_WORD": "offsetof(struct log_entry, thread) / 4",
    "rdb.recording.log.entries._HEADER_BYTES": "sizeof(struct log_segment_header)",
    "rdb.recording.log.bytes._SHORT": "LOG_SHORT",
    "rdb.recording.log.bytes._MODEL_MOST": "LOG_MODEL_MAX",
    "rdb.recording.log.record._RECORD_BYTES": "sizeof(struct log_record)",
    "rdb.recording.log.record._TOOK_AT": "offsetof(struct log_record, took)",
    "rdb.recording.log.record._TOOK_US": "LOG_TOOK_US",
    "rdb.recording.log.head._CHECKED_FROM": "offsetof(struct log_record, repeat) + 8",
    "rdb.recording.log.head._NOTE_TEXT": "RDB_NOTE_TEXT",
    "rdb.recording.log.describe._NAMESPACE_MPI": "RDB_NS_MPI",
    "rdb.recording.log.describe._CLOCK": "RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK)",
    "rdb.recording.log.verbs_calls.NAMESPACE_VERBS": "RDB_NS_VERBS",
    "rdb.recording.mpi.items._NAMESPACE_MPI": "RDB_NS_MPI",
    "rdb.recording.mpi.communication._FIRST_DYNAMIC": "RDB_FIRST_DYNAMIC",
    "rdb.recording.query.fields._CLOCK": "RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK)",
    "rdb.replay.protocol.VERSION": "AGENT_VERSION",
    "rdb.replay.protocol.PACKET": "AGENT_PACKET",
    "rdb.replay.protocol.FOREVER": "AGENT_FOREVER",
    "rdb.replay.protocol.TRACED": "AGENT_TRACED",
    "rdb.replay.protocol.DIMENSIONS": "AGENT_DIMENSIONS",
    "rdb.replay.protocol.OPERANDS": "AGENT_OPERANDS",
    "rdb.replay.protocol.STEPS": "AGENT_STEPS",
    "rdb.replay.protocol.LOOKOUTS": "AGENT_LOOKOUTS",
    "rdb.replay.protocol.RANGES": "AGENT_RANGES",
    "rdb.replay.protocol.FOLDS": "AGENT_FOLDS",
    "rdb.replay.protocol.LOOKOUT_BYTES": "AGENT_LOOKOUT_BYTES",
    "rdb.coordinate.board._MAGIC": "BOARD_MAGIC",
    "rdb.coordinate.board._VERSION": "BOARD_VERSION",
    "rdb.live.from_checkpoint._MAGIC": "STATE_MAGIC",
    "rdb.live.files.journals._MAGIC": "UNDO_MAGIC",
    "rdb.live.files.files_before._SIZE_BYTES": "sizeof(struct rdb_note_opened)",
    "rdb.live.files.files_before._HEAD_BYTES": "sizeof(struct rdb_note_was)",
    "rdb.live.files.attributes._HEAD_BYTES": "sizeof(struct rdb_note_attributes)",
}


def of_python(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What each expression is, by the compiler."""
    expressions = [*NUMBERS.values()]
    for dotted, prefix in ENUMS.items():
        expressions += [prefix + member.name for member in of_python(dotted)]
    lines = [f'#include "{name}"\n' for name in HEADERS]
    lines += ["#include <stddef.h>\n", "const unsigned long long numbers[] = {\n"]
    lines += [f"(unsigned long long)({one}),\n" for one in expressions]
    folder = tmp_path_factory.mktemp("mirrors")
    (folder / "all.c").write_text("".join([*lines, "};\n"]))
    options = ["-std=gnu17", "-D_GNU_SOURCE", "-mfsgsbase", f"-I{INTERPOSER}"]
    line = ["gcc", *options, "-c", "all.c", "-o", "all.o"]
    subprocess.run(line, cwd=folder, check=True)
    with open(folder / "all.o", "rb") as file:
        elf: Any = ELFFile(file)
        (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name("numbers")
        data = elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :]
    return dict(zip(expressions, struct.unpack_from(f"<{len(expressions)}Q", data), strict=True))


def test_enumerations(in_c: dict[str, int]) -> None:
    for dotted, prefix in ENUMS.items():
        members = {member.name: int(member) for member in of_python(dotted)}
        assert members == {name: in_c[prefix + name] for name in members}, dotted


def test_numbers(in_c: dict[str, int]) -> None:
    assert {dotted: of_python(dotted) for dotted in NUMBERS} == {
        dotted: in_c[expression] for dotted, expression in NUMBERS.items()
    }
