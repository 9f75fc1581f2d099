"""Blocks of the program's text (GDB manual, Blocks In Python)."""

from __future__ import annotations

from typing import Any


def function_block(block: Any) -> Any:
    """The block of the function that BLOCK is in; None: it is in none."""
    while block is not None and block.function is None:
        block = block.superblock
    return block


def function_of(block: Any) -> Any:
    """That function."""
    found = function_block(block)
    return None if found is None else found.function
