"""Arrays of numpy in every place that a name can come from."""

import os

import numpy as np

limit = 1e6
everywhere = np.linspace(0, 1, 11)


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Grid:
    shared = np.array([5, 6])

    def __init__(self):
        self.u = np.arange(24.0).reshape(4, 6)
        self.slot = Slotted(np.array([1, 2, 3], dtype=np.int16))
        self.fields = {"rho": np.ones((2, 3), order="F"), 7: [3, self.u[::-1, ::2]]}

    @property
    def computed(self):
        return self.u * 2


def step(grid, n):
    u = grid.u
    z = u + 1j
    masked = np.ma.masked_array([1, 2], mask=[True, False])
    swapped = u.astype(">f8")
    texts = np.array(["a", "b"])
    fields = np.zeros(2, dtype=[("rho", "f8"), ("n", "i4")])
    empty = np.zeros((0, 3))
    one = np.float32(2.5)
    kinds = {code: np.array([3, 0, 1]).astype(code) for code in "?bBhHiIlLqQefdgFDG"}

    def inner():
        return u[0, 0] + limit

    u[2, 3] = np.nan if n == 30 else u[2, 3] + 1
    z[1, 2] = u[2, 3]
    os.getppid()
    later = np.zeros(3)
    return inner() + later[0] + one + len(kinds), masked, swapped, texts, empty, fields


def main():
    grid = Grid()
    for n in range(600):
        step(grid, n)


main()
