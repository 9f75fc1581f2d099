"""Loads the extension's modules, then calls their functions marked with @at_load."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable
from typing import TypeVar

#: The folders from the bottom up; each imports only earlier ones (tests/test_import_layers.py).
LAYERS = ("link", "values", "state", "search", "commands")

Step = TypeVar("Step", bound=Callable[[], object])

_steps: list[Callable[[], object]] = []


def at_load(step: Step) -> Step:
    """Decorator.  Functions are called in the order of imports, so that a module's handlers of GDB
    events run after those of the modules it uses."""
    _steps.append(step)
    return step


def load() -> None:
    """Imports all modules, then calls their functions."""
    for layer in LAYERS:
        package = importlib.import_module(f"{__package__}.{layer}")
        for file in sorted(os.listdir(package.__path__[0])):
            name, kind = os.path.splitext(file)
            if kind == ".py" and name != "__init__":
                importlib.import_module(f"{package.__name__}.{name}")
    while _steps:
        _steps.pop(0)()
    gc.freeze()  # all of it stays: it need not be looked through for what could be freed
