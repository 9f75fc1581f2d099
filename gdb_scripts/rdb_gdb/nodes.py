"""Containers of libstdc++ whose elements lie apart: where they begin, and the way to the next."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gdb

from .elements import inner

# interposer/agent/agent.h: enum agent_array_walk
_CHAIN, _TREE, _BLOCKS = range(1, 4)
_POINTER = 8
_FORWARD_MAX = 10_000  # each is read on its own to count them
_PARENT, _LEFT, _RIGHT, _TREE_NODE = 8, 16, 24, 32  # _Rb_tree_node_base
# Nodes in a row: the first one, how many there are, and how long their pointers are together.
_CHAINS = (
    ("_M_impl._M_node._M_next", "_M_impl._M_node._M_size", 2 * _POINTER),  # std::list
    ("_M_h._M_before_begin._M_nxt", "_M_h._M_element_count", _POINTER),  # std::unordered_...
)


@dataclass(frozen=True)
class Nodes:
    """ADDRESS and WAY as the agent takes them.  ELEMENT is the type of what a node or block holds:
    of a map a key and the value that counts."""

    walk: int
    address: int
    way: list[int]
    count: int
    element: Any
    value_at: int = 0  # in a node
    is_map: bool = False

    @property
    def kind(self) -> Any:
        return _second(self.element).type if self.is_map else self.element

    def name(self, number: int, node: int) -> str:
        """What follows the container's."""
        if not self.is_map:
            return f"[{number}]"
        return f"[{self._element(number, node)['first'].format_string()}]"

    def shown(self, number: int, node: int) -> str:
        found = self._element(number, node)
        return str((found["second"] if self.is_map else found).format_string())

    def _element(self, number: int, node: int) -> Any:
        at = node + self.value_at
        if self.walk == _BLOCKS:
            _, in_block, first = self.way
            block, within = divmod(first + number, in_block)
            at = _pointer(self.address + block * _POINTER) + within * int(self.element.sizeof)
        return gdb.Value(at).cast(self.element.pointer()).dereference()


def nodes(value: Any) -> Nodes | None:
    """Of a container of this kind."""
    if inner(value, "_M_t._M_impl._M_header") is not None:
        return _tree(value["_M_t"], _is_map(value))
    if inner(value, "_M_impl._M_start._M_node") is not None:
        return _blocks(value)
    first_of_forward = inner(value, "_M_impl._M_head._M_next")
    if first_of_forward is not None:
        begins = int(first_of_forward)
        return _of_nodes(_CHAIN, begins, [0], _length(begins), _argument(value, 0), _POINTER, False)
    for first, count, links in _CHAINS:
        begins = inner(value, first)
        if begins is not None:
            table = inner(value, "_M_h")
            element = _argument(value, 0) if table is None else _argument(table, 1)
            many = int(inner(value, count))
            return _of_nodes(_CHAIN, int(begins), [0], many, element, links, _is_map(value))
    return None


def _length(node: int) -> int:
    """Of a std::forward_list, which does not know it."""
    for count in range(_FORWARD_MAX + 1):
        if node == 0:
            return count
        node = _pointer(node)
    raise gdb.error(f"the list has more than {_FORWARD_MAX} elements, which nobody has counted.")


def _tree(tree: Any, is_map: bool) -> Nodes:
    header, count = tree["_M_impl"]["_M_header"], int(tree["_M_impl"]["_M_node_count"])
    way = [_LEFT, _RIGHT, _PARENT]
    begins = int(header["_M_left"])
    return _of_nodes(_TREE, begins, way, count, _argument(tree, 1), _TREE_NODE, is_map)


def _of_nodes(
    walk: int, address: int, way: list[int], count: int, element: Any, links: int, is_map: bool
) -> Nodes:
    value_at = -(-links // element.alignof) * element.alignof
    offset = value_at + (_second(element).bitpos // 8 if is_map else 0)
    return Nodes(walk, address, [offset, *way], count, element, value_at, is_map)


def _blocks(deque: Any) -> Nodes:
    start, finish = deque["_M_impl"]["_M_start"], deque["_M_impl"]["_M_finish"]
    element = _argument(deque, 0)
    size = int(element.sizeof)
    in_block = (int(start["_M_last"]) - int(start["_M_first"])) // size
    first = (int(start["_M_cur"]) - int(start["_M_first"])) // size
    whole = (int(finish["_M_node"]) - int(start["_M_node"])) // _POINTER * in_block
    last = (int(finish["_M_cur"]) - int(finish["_M_first"])) // size
    way = [size, in_block, first]
    return Nodes(_BLOCKS, int(start["_M_node"]), way, whole + last - first, element)


def _is_map(value: Any) -> bool:
    return bool(
        re.match(r"std::(\w+::)*(unordered_)?(multi)?map<", value.type.strip_typedefs().name)
    )


def _argument(value: Any, number: int) -> Any:
    return value.type.strip_typedefs().template_argument(number).strip_typedefs()


def _second(pair: Any) -> Any:
    return next(one for one in pair.fields() if one.name == "second")


def _pointer(at: int) -> int:
    return int.from_bytes(gdb.selected_inferior().read_memory(at, _POINTER).tobytes(), "little")
