"""Scalars in every place that a name can come from; says what the expressions in a file are."""

import json
import math
import os
import sys
from collections import deque
from enum import Enum

try:
    import numpy as np
except ImportError:
    np = None

calls = 0
label = "start"
texts = ["a", "b"]
recent = deque(range(200), maxlen=150)
table = {"k": 1.0, 3: 2, "none": None}
expressions = []
if len(sys.argv) > 1:
    with open(sys.argv[1]) as file:
        expressions = json.load(file)


class State(Enum):
    IDLE = 1
    BUSY = 2


class Temperature(float):
    pass


class Slotted:
    __slots__ = ("w",)


class Solver:
    cells = 64

    def __init__(self):
        self.x = 0.5
        self.residual = None
        self.state = State.IDLE
        self.done = False
        self.history = []
        self.slot = Slotted()
        self.slot.w = -7

    @property
    def half(self):
        return self.x / 2

    def advance(self, n, energy):
        big = 3 ** (n * 17)
        small = -(n % 3)
        z = complex(n, -2.5)
        warm = Temperature(20.5)
        single = np.float32(n / 7) if np else n / 7
        pair = (n, [n / 3, "x"])
        self.x = self.x + 0.25
        self.residual = 1 / (n + 1)
        self.history.append(energy)
        recent.append(n)
        recent.appendleft(-n)
        if n == 12:
            self.done = True
        if n in (4, 10):
            here = locals()
            said = [outcome(text, globals(), here) for text in expressions]
            print(json.dumps(said), flush=True)
            os.getppid()
        return energy * 3


def outcome(text, module, here):
    """A number, a text, or that it is neither."""
    try:
        value = eval(text, module, here)
    except (NameError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError):
        return ["error", ""]
    if isinstance(value, str):
        return ["text", value]
    if np and isinstance(value, np.generic):
        value = value.item()
    whole = isinstance(value, int) and -(2**63) <= value < 2**63
    return ["number", repr(float(value))] if whole or isinstance(value, float) else ["error", ""]


def main():
    global calls, label
    solver = Solver()
    energy = 1.0
    for n in range(16):
        energy = solver.advance(n, energy)
        calls += 1
        table["k"] -= 0.125
        if n == 9:
            label = "later"
        if n == 13:
            energy = math.nan
        os.getuid()


main()
