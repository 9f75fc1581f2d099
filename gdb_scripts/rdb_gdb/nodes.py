"""Containers of libstdc++ and libc++ whose elements lie apart: where they begin, and the way to the
next."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import gdb

from .elements import inner

# interposer/seek/agent.h: enum agent_array_walk
_CHAIN, _TREE, _BLOCKS = range(1, 4)
_POINTER = 8
_FORWARD_MAX = 10_000  # each is read on its own to count them
# The first node, how many there are, the length of what a node has before its value, and where in
# it are the pointers to the next one, or to the left, to the right and upwards.
_LAYOUTS = (
    ("_M_impl._M_node._M_next", "_M_impl._M_node._M_size", 16, [0]),  # std::list
    ("__end_.__next_", "__size_alloc_.__value_", 16, [8]),
    ("_M_impl._M_head._M_next", "", 8, [0]),  # std::forward_list
    ("__before_begin_.__value_.__next_", "", 8, [0]),
    ("_M_h._M_before_begin._M_nxt", "_M_h._M_element_count", 8, [0]),  # std::unordered_...
    ("__table_.__p1_.__value_.__next_", "__table_.__p2_.__value_", 16, [0]),
    ("_M_t._M_impl._M_header._M_left", "_M_t._M_impl._M_node_count", 32, [16, 24, 8]),
    ("__tree_.__begin_node_", "__tree_.__pair3_.__value_", 25, [0, 8, 16]),  # a bool is the last
)
_IN_BLOCK, _IN_LARGE, _LARGE = 4096, 16, 256  # of libc++: bytes, elements, the size of large ones


@dataclass(frozen=True)
class Nodes:
    """ADDRESS and WAY as the agent takes them, KIND the type of what counts of an element."""

    walk: int
    address: int
    way: list[int]
    count: int
    kind: Any
    key: tuple[int, Any] | None = None
    """Of a map: where it is in a node, and its type."""

    def member(self, offset: int, kind: Any) -> Nodes:
        """Of each element."""
        way = list(self.way)
        way[3 if self.walk == _BLOCKS else 0] += offset
        return replace(self, way=way, kind=kind)

    def name(self, number: int, node: int) -> str:
        """What follows the container's."""
        if self.key is None:
            return f"[{number}]"
        at, kind = self.key
        return f"[{_key(_there(node + at, kind))}]"

    def shown(self, number: int, node: int) -> str:
        at = node + self.way[0]
        if self.walk == _BLOCKS:
            size, in_block, first, offset = self.way
            block, within = divmod(first + number, in_block)
            at = _pointer(self.address + block * _POINTER) + within * size + offset
        return str(_there(at, self.kind).format_string())


def nodes(value: Any) -> Nodes | None:
    """Of a container of this kind."""
    value = _of_library(value)
    deque = _deque(value)
    if deque is not None:
        return deque
    for first, many, before, links in _LAYOUTS:
        begins = inner(value, first)
        if begins is None:
            continue
        count = int(inner(value, many)) if many else _length(int(begins))
        kind = _argument(value, 0)
        at, key = _aligned(before, kind.alignof), None
        if re.match(r"std::(\w+::)*(unordered_)?(multi)?map<", value.type.name):
            kind, first_kind = _argument(value, 1), kind
            pair = _aligned(before, max(kind.alignof, first_kind.alignof))
            at, key = pair + _aligned(first_kind.sizeof, kind.alignof), (pair, first_kind)
        walk = _TREE if len(links) > 1 else _CHAIN
        return Nodes(walk, int(begins), [at, *links], count, kind, key)
    return None


def _of_library(value: Any) -> Any:
    """A class that is derived from a container is one."""
    kind = value.type.unqualified().strip_typedefs()
    while not (kind.name or "").startswith("std::") and kind.fields():
        base = kind.fields()[0]
        if not base.is_base_class:
            break
        kind = base.type.unqualified().strip_typedefs()
    return value.cast(kind)


def _deque(value: Any) -> Nodes | None:
    start = inner(value, "_M_impl._M_start")
    if start is not None and inner(start, "_M_node") is not None:
        finish = value["_M_impl"]["_M_finish"]
        kind = _argument(value, 0)
        size = int(kind.sizeof)
        in_block = (int(start["_M_last"]) - int(start["_M_first"])) // size
        first = (int(start["_M_cur"]) - int(start["_M_first"])) // size
        whole = (int(finish["_M_node"]) - int(start["_M_node"])) // _POINTER * in_block
        last = (int(finish["_M_cur"]) - int(finish["_M_first"])) // size
        way = [size, in_block, first, 0]
        return Nodes(_BLOCKS, int(start["_M_node"]), way, whole + last - first, kind)
    blocks = inner(value, "__map_.__begin_")
    if blocks is not None:
        kind = _argument(value, 0)
        size = int(kind.sizeof)
        in_block = _IN_BLOCK // size if size < _LARGE else _IN_LARGE
        way = [size, in_block, int(value["__start_"]), 0]
        return Nodes(_BLOCKS, int(blocks), way, int(inner(value, "__size_.__value_")), kind)
    return None


def _length(node: int) -> int:
    """Of a std::forward_list, which does not know it."""
    for count in range(_FORWARD_MAX + 1):
        if node == 0:
            return count
        node = _pointer(node)
    raise gdb.error(f"the list has more than {_FORWARD_MAX} elements, which nobody has counted.")


def _aligned(length: int, to: int) -> int:
    return -(-length // to) * to


def _argument(value: Any, number: int) -> Any:
    return value.type.template_argument(number).unqualified().strip_typedefs()


def _there(at: int, kind: Any) -> Any:
    return gdb.Value(at).cast(kind.pointer()).dereference()


def _key(value: Any) -> str:
    """A text of libc++ has no printer."""
    if not re.match(r"std::__1::basic_string<char,", value.type.name or ""):
        return str(value.format_string())
    raw = _read(int(value.address), 3 * _POINTER)
    if raw[0] & 1:  # a long one: its capacity, its length, where it is
        length, at = (int.from_bytes(raw[n : n + _POINTER], "little") for n in (8, 16))
        text = _read(at, length)
    else:
        text = raw[1 : 1 + raw[0] // 2]
    return '"' + text.decode(errors="replace") + '"'


def _read(at: int, length: int) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(at, length))


def _pointer(at: int) -> int:
    return int.from_bytes(_read(at, _POINTER), "little")
