"""Layouts that Python reads are those of the C headers, by the debug information of a compiler."""

from __future__ import annotations

import importlib
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

INTERPOSER = Path(__file__).parents[2] / "interposer"

# Struct in C -> where Python has it.  A `+`: Python reads its beginning only.
MIRRORS = {
    "log_record": "rdb.recording.log.head._RECORD",
    "log_chunk": "rdb.recording.log.head._CHUNK rdb.recording.log.record._CHUNK",
    "log_segment_header": "rdb.recording.log.head.SEGMENT_HEADER+",
    "log_entry": "rdb.recording.log.library.ENTRY",
    "log_message": "rdb.recording.mpi.items.ITEM",
    "image_header": "rdb.recording.packing._IMAGE_HEAD+ rdb.recording.checkpoints._HEAD+",
    "state_head": "rdb.live.from_checkpoint._HEAD+",
    "undo_record": "rdb.live.files.journals._RECORD",
    "undo_note": "rdb.live.files.journals._NOTE",
    "rdb_note_payload": "rdb.recording.log.record._PAYLOAD+",
    "rdb_note_recv": "rdb.recording.log.record._NOTE_MESSAGE",
    "rdb_note_pipe": "rdb.live.tree.open_files._PIPE_NOTE",
    "rdb_note_shared_of": "rdb.live.tree.shared._OF",
    "rdb_note_socket": "rdb.live.sockets._NOTE",
    "rdb_note_mpi_file": "rdb.live.files.mpi_files._NOTE",
    "rdb_note_file_turn": "rdb.live.files.mpi_files._TURN",
    "verbs_note_post": "rdb.recording.log.verbs_calls._NOTE_POST+",
    "verbs_note_arrival": "rdb.recording.messages.verbs._NOTE_ARRIVAL rdb.live.verbs.rank._ARRIVAL",
    "verbs_note_completed": "rdb.live.verbs.rank._COMPLETED",
    "verbs_note_taken": "rdb.live.verbs.rank._TAKEN",
    "verbs_note_async": "rdb.live.verbs.rank._ASYNC",
    "verbs_event": "rdb.live.verbs.rank._EVENT+",
    "verbs_keys": "rdb.recording.verbs.objects._KEYS",
    "pid_entry": "rdb.live.tree.born.PID_ENTRY",
    "board": "rdb.coordinate.board._HEAD+",
    "board_slot": "rdb.coordinate.board._SLOT+",
    "board_clock": "rdb.coordinate.board._CLOCK",
    "agent_request": "rdb.replay.protocol.REQUEST",
    "agent_reply": "rdb.replay.protocol.REPLY",
    "agent_hello": "rdb.replay.protocol.HELLO",
    "agent_gpr": "rdb.replay.protocol.GPR",
    "agent_stop": "rdb.replay.protocol.STOP+",
    "agent_map": "rdb.replay.protocol.MAP",
    "agent_output": "rdb.replay.protocol.OUTPUT",
    "agent_thread": "rdb.replay.protocol.THREAD",
    "agent_change": "rdb.replay.protocol.CHANGE",
    "agent_asked": "rdb.replay.protocol.ASKED",
    "agent_array": "rdb.replay.protocol.ARRAY+",
    "agent_array_operand": "rdb.replay.protocol.ARRAY_OPERAND",
    "agent_array_step": "rdb.replay.protocol.ARRAY_STEP",
    "agent_array_found": "rdb.replay.protocol.ARRAY_FOUND",
    # of the system's headers
    "ibv_wc": "rdb.recording.verbs.objects._WC rdb.live.verbs.queues.WC+",
    "ibv_srq_attr": "rdb.live.verbs.rank._SRQ_LIMIT",
}
SYSTEM = "#include <infiniband/verbs.h>\n"
NESTED = {"agent_array_operand": "agent_array", "agent_array_step": "agent_array"}


class Field(NamedTuple):
    at: int
    size: int
    kind: str  # unsigned, signed, float, bytes


KINDS = {**dict.fromkeys("?BHIQ", "unsigned"), **dict.fromkeys("bhiq", "signed"), "d": "float"}


def of_python(layout: struct.Struct) -> Iterator[Field]:
    """What it reads: padding bytes are no field."""
    at = 0
    assert layout.format[0] in "<=", "no padding by itself"
    for count, code in re.findall(r"(\d*)([?a-zA-Z])", layout.format):
        each = struct.calcsize("=" + code)
        if code in "sx":
            size = int(count or 1)
            if code == "s":
                yield Field(at, size, "bytes")
            at += size
            continue
        for _ in range(int(count or 1)):
            yield Field(at, each, KINDS[code])
            at += each


def plain(kind: DIE) -> DIE:
    while kind.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
        kind = kind.get_DIE_from_attribute("DW_AT_type")
    return kind


def of_type(kind: DIE, at: int) -> Iterator[Field]:
    kind = plain(kind)
    if kind.tag == "DW_TAG_array_type":
        element = plain(kind.get_DIE_from_attribute("DW_AT_type"))
        count = 1
        for bounds in kind.iter_children():
            last = bounds.attributes.get("DW_AT_upper_bound")
            count *= last.value + 1 if last else 0  # none: what follows has its own length
        size = element.attributes["DW_AT_byte_size"].value
        if size == 1 and count:
            yield Field(at, count, "bytes")
            return
        for i in range(count):
            yield from of_type(element, at + i * size)
    elif kind.tag == "DW_TAG_structure_type":
        yield from of_struct(kind, at)
    elif kind.tag == "DW_TAG_union_type":
        yield from of_type(next(kind.iter_children()).get_DIE_from_attribute("DW_AT_type"), at)
    elif kind.tag in ("DW_TAG_pointer_type", "DW_TAG_enumeration_type"):
        yield Field(at, kind.attributes["DW_AT_byte_size"].value, "unsigned")
    else:
        encoding = kind.attributes["DW_AT_encoding"].value
        name = {4: "float", 5: "signed", 6: "signed"}.get(encoding, "unsigned")
        yield Field(at, kind.attributes["DW_AT_byte_size"].value, name)


def of_struct(kind: DIE, at: int = 0) -> Iterator[Field]:
    for member in kind.iter_children():
        if member.tag == "DW_TAG_member":
            offset = member.attributes["DW_AT_data_member_location"].value
            yield from of_type(member.get_DIE_from_attribute("DW_AT_type"), at + offset)


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, list[Field]]]:
    """Each struct of MIRRORS: its size and its fields, by gcc."""
    headers = {path: path.read_text() for path in INTERPOSER.rglob("*.h")}
    includes, uses = [SYSTEM], []
    for number, name in enumerate(MIRRORS):
        own = re.compile(rf"^struct {NESTED.get(name, name)} \{{", re.M)
        found = [path for path, text in headers.items() if own.search(text)]
        assert len(found) <= 1, (name, found)
        includes += [f'#include "{path}"\n' for path in found]
        uses.append(f"struct {name} u{number};\n")
    folder = tmp_path_factory.mktemp("mirrors")
    (folder / "all.c").write_text("".join(includes + uses))
    line = [
        "gcc",
        "-std=gnu17",
        "-D_GNU_SOURCE",
        "-mfsgsbase",
        "-g",
        "-c",
        f"-I{INTERPOSER}",
        "all.c",
        "-o",
        "all.o",
    ]
    subprocess.run(line, cwd=folder, check=True)
    result: dict[str, tuple[int, list[Field]]] = {}
    with open(folder / "all.o", "rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for die in unit.iter_DIEs():
                name = die.attributes.get("DW_AT_name")
                if die.tag != "DW_TAG_structure_type" or name is None:
                    continue
                text = name.value.decode()
                if text in MIRRORS and "DW_AT_byte_size" in die.attributes:
                    result[text] = die.attributes["DW_AT_byte_size"].value, list(of_struct(die))
    return result


def layout_of(dotted: str) -> struct.Struct:
    module, _, name = dotted.rpartition(".")
    layout: Any = getattr(importlib.import_module(module), name)
    assert isinstance(layout, struct.Struct)
    return layout


def test_python_reads_what_c_has(layouts: dict[str, tuple[int, list[Field]]]) -> None:
    for name, places in MIRRORS.items():
        size, fields = layouts[name]
        for where in places.split():
            same(where, size, fields)


def same(where: str, size: int, fields: list[Field]) -> None:
    ends = {field.at for field in fields} | {size}
    layout = layout_of(where.rstrip("+"))
    assert layout.size == size or (where.endswith("+") and layout.size < size), where
    for field in list(of_python(layout)):
        if field.kind == "bytes":  # may stand for several fields
            assert {field.at, field.at + field.size} <= ends, (where, field)
        else:
            assert field in fields, (where, field, fields)
