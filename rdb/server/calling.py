"""Conversion of a search for calls of a function between JSON and the timeline's types."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from rdb.server.registers import GENERAL
from rdb.timeline.calls import Call, Plan, Taken


def plan_of(asked: dict[str, Any]) -> Plan:
    texts = tuple((str(register), int(offset)) for register, offset in asked["texts"])
    return Plan(**{**asked, "texts": texts})


def packed(calls: list[Call]) -> str:
    """The calls as JSON, compressed, in base64: GDB reads long answers slowly."""
    text = json.dumps([_row(call) for call in calls])
    return base64.b64encode(zlib.compress(text.encode(), 1)).decode()


def _row(call: Call) -> dict[str, Any]:
    return {
        "position": str(call.position),
        "back": call.back,
        "entered": _taken(call.entered),
        "returned": None if call.returned is None else _taken(call.returned),
    }


def _taken(taken: Taken) -> dict[str, Any]:
    return {
        "registers": {name: getattr(taken.gpr, name) for name in GENERAL},
        "vector": taken.vector.hex(),
        "memory": taken.memory.hex(),
        "texts": [text.hex() for text in taken.texts],
    }
