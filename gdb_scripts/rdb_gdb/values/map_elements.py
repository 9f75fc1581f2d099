"""`m["key"]` of C++ maps for GDB's own commands, as what GDB calls an xmethod: without it GDB calls
the program's operator [], which adds a missing key."""

from __future__ import annotations

import re
from typing import Any

import gdb
import gdb.xmethod

from .. import link
from ..loading import at_load
from . import subscripts, symbols
from .subscripts import MAP

_NAME = "operator[]"


class _Subscript(gdb.xmethod.XMethodWorker):
    """The operator for one type of its operand."""

    def __init__(self, operand: Any, element: Any) -> None:
        self._operand, self._element = operand, element

    def get_arg_types(self) -> Any:
        return self._operand

    def get_result_type(self, *_: Any) -> Any:
        return self._element

    def __call__(self, *given: Any) -> Any:
        of, key = given  # GDB 13 passes a pointer to the object
        is_pointer = of.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        return subscripts.element(of.dereference() if is_pointer else of, key).dereference()


class _OfMaps(gdb.xmethod.XMethodMatcher):
    def __init__(self) -> None:
        super().__init__("rdb-maps")
        self.methods = [gdb.xmethod.XMethod(_NAME)]

    def match(self, class_type: Any, method_name: str) -> Any:
        kind = class_type.unqualified().strip_typedefs()
        if method_name != _NAME or not re.match(MAP, kind.name or "") or not link.opened():
            return None
        key, element = kind.template_argument(0), kind.template_argument(1)
        # A text of any length, and a number: to make another type of one, also of one that is no
        # key, GDB would call the program's malloc.
        text = symbols.in_c("(char (*)[]) 0").type.target()
        return [_Subscript(one, element) for one in (key, text, gdb.lookup_type("long"))]


@at_load
def register() -> None:
    gdb.xmethod.register_xmethod_matcher(None, _OfMaps())
