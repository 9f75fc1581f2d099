"""Containers of libstdc++, libc++ and Rust whose elements are not contiguous: the first element,
and the way to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import gdb

from . import texts
from .elements import inner

# interposer/interface/agent.h: enum agent_array_walk
CHAIN, _TREE, _BLOCKS, _RING = range(1, 5)
_POINTER = 8
_FORWARD_MAX = 10_000  # elements of a forward_list; each is read to count them
# Path to the first node, path to the number of elements, bytes in a node before its value, offsets
# of the pointer to the next node, or of those to the left, right and parent node.
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
_IN_BLOCK, _IN_LARGE, _LARGE = 4096, 16, 256  # libc++: bytes, elements, size of large ones


@dataclass(frozen=True)
class Nodes:
    """ADDRESS and WAY: as the agent takes them; KIND: type of the value, or of its wanted
    member."""

    walk: int
    address: int
    way: list[int]
    count: int
    kind: Any
    key: tuple[int, Any] | None = None
    """Of a map: offset of the key in a node, and its type."""

    def member(self, offset: int, kind: Any) -> Nodes:
        """The same with a member of each element."""
        way = list(self.way)
        way[3 if self.walk >= _BLOCKS else 0] += offset
        return replace(self, way=way, kind=kind)

    def name(self, number: int, node: int) -> str:
        """The text for element NUMBER after the container's name."""
        if self.key is None:
            return f"[{number}]"
        at, kind = self.key
        return f"[{_key(_there(node + at, kind))}]"

    def places(self) -> Iterator[int]:
        """The nodes of a chain or a tree."""
        node = self.address
        for _ in range(self.count):
            yield node
            node = pointer(node + self.way[1]) if self.walk == CHAIN else self._next(node)

    def _next(self, node: int) -> int:
        left, right, parent = self.way[1:]
        below = pointer(node + right)
        if not below:
            above = pointer(node + parent)
            while pointer(above + right) == node:
                node, above = above, pointer(above + parent)
            return above
        while left_of_it := pointer(below + left):
            below = left_of_it
        return below

    def shown(self, number: int, node: int) -> str:
        at = node + self.way[0]
        if self.walk >= _BLOCKS:
            size, in_block, first, offset = self.way
            block, within = divmod(first + number, in_block)
            begin = self.address
            if self.walk == _BLOCKS:
                begin = pointer(begin + block * _POINTER)
            at = begin + within * size + offset
        return str(_there(at, self.kind).format_string())


def ring(start: int, capacity: int, first: int, count: int, kind: Any) -> Nodes:
    """COUNT elements of a ring buffer of CAPACITY elements, from index FIRST on."""
    return Nodes(_RING, start, [int(kind.sizeof), capacity, first, 0], count, kind)


def nodes(value: Any) -> Nodes | None:
    """The elements of such a container; None: it is none."""
    value = of_library(value)
    deque = _deque(value)
    if deque is not None:
        return deque
    for first, many, before, links in _LAYOUTS:
        begins = inner(value, first)
        if begins is None:
            continue
        count = int(inner(value, many)) if many else _length(int(begins))
        kind = argument(value, 0)
        at, key = _aligned(before, kind.alignof), None
        if re.match(r"std::(\w+::)*(unordered_)?(multi)?map<", value.type.name):
            kind, first_kind = argument(value, 1), kind
            pair = _aligned(before, max(kind.alignof, first_kind.alignof))
            at, key = pair + _aligned(first_kind.sizeof, kind.alignof), (pair, first_kind)
        walk = _TREE if len(links) > 1 else CHAIN
        return Nodes(walk, int(begins), [at, *links], count, kind, key)
    return None


def of_library(value: Any) -> Any:
    """The container from which a class is derived."""
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
        kind = argument(value, 0)
        size = int(kind.sizeof)
        in_block = (int(start["_M_last"]) - int(start["_M_first"])) // size
        first = (int(start["_M_cur"]) - int(start["_M_first"])) // size
        whole = (int(finish["_M_node"]) - int(start["_M_node"])) // _POINTER * in_block
        last = (int(finish["_M_cur"]) - int(finish["_M_first"])) // size
        way = [size, in_block, first, 0]
        return Nodes(_BLOCKS, int(start["_M_node"]), way, whole + last - first, kind)
    blocks = inner(value, "__map_.__begin_")
    if blocks is not None:
        kind = argument(value, 0)
        size = int(kind.sizeof)
        in_block = _IN_BLOCK // size if size < _LARGE else _IN_LARGE
        way = [size, in_block, int(value["__start_"]), 0]
        return Nodes(_BLOCKS, int(blocks), way, int(inner(value, "__size_.__value_")), kind)
    return None


def _length(node: int) -> int:
    """Length of a std::forward_list, which does not store it."""
    for count in range(_FORWARD_MAX + 1):
        if node == 0:
            return count
        node = pointer(node)
    raise gdb.error(f"the list is too long: it has more than {_FORWARD_MAX} elements.")


def _aligned(length: int, to: int) -> int:
    return -(-length // to) * to


def argument(value: Any, number: int) -> Any:
    return value.type.template_argument(number).unqualified().strip_typedefs()


def _there(at: int, kind: Any) -> Any:
    return gdb.Value(at).cast(kind.pointer()).dereference()


def _key(value: Any) -> str:
    """A key as text; a string of libc++ has no pretty printer."""
    if not texts.is_of_libcxx(value.type):
        return str(value.format_string())
    return '"' + texts.bytes_of(value).decode(errors="replace") + '"'


def _read(at: int, length: int) -> bytes:
    return bytes(gdb.selected_inferior().read_memory(at, length))


def pointer(at: int) -> int:
    return int.from_bytes(_read(at, _POINTER), "little")
