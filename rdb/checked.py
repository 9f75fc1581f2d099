"""Text with a checksum: JSON whose last key is `crc32c`, the CRC-32C of the text before that key;
and single lines with a checksum at the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from rdb.crc32c import crc32c

TYPE_CHECKING = False  # see rdb/cli/run.py
if TYPE_CHECKING:
    from typing import Any

_SEALED = re.compile(r'(.*), "crc32c": "([0-9a-f]{8})"\}\s*\Z', re.DOTALL)
_LINE_END = re.compile(rb" ~[0-9a-f]{8}\Z")


def to_json(value: Mapping[str, object]) -> str:
    """VALUE, not empty, as JSON that ends with its checksum and a newline."""
    text = json.dumps(value)[:-1]
    return f'{text}, "crc32c": "{crc32c(0, text.encode()):08x}"}}\n'


def from_json(text: str) -> Any:
    """The object that `to_json` wrote, without its checksum.

    ValueError: TEXT is no JSON, or its checksum is missing or wrong.
    """
    value = json.loads(text)
    found = _SEALED.match(text)
    if found is None:
        raise ValueError("expected a checksum at its end")
    check = crc32c(0, found[1].encode())
    if f"{check:08x}" != found[2]:
        raise ValueError(f"expected the CRC-32C {found[2]}, found {check:08x}")
    del value["crc32c"]
    return value


def line_of(line: bytes) -> str | None:
    """A line that checked_line() of interposer/log/file_sum.h made, without its checksum.

    None: the line is damaged.
    """
    end = _LINE_END.search(line)
    if end is None or f" ~{crc32c(0, line[: end.start()]):08x}".encode() != end[0]:
        return None
    return line[: end.start()].decode(errors="replace")
