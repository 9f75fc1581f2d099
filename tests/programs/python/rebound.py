"""Names that mean other arrays from event to event."""

import os

import numpy as np

whole = np.zeros(3)
held = {}


class Box:
    pass


box = Box()


def inner(n, u):
    v = u + n
    os.getppid()
    if n % 3 == 0:
        w = v * 2
        os.getuid()
        return w
    return inner(n + 1, u) if n % 3 == 1 else v


def main():
    global whole
    u = np.zeros(4)
    for n in range(48):
        if n % 5:
            u = np.full(4, float(n))
        box.a = inner(n, u)
        held[f"k{n % 7}"] = box.a
        if n % 11 == 0:
            whole = np.arange(float(n % 4 + 1))
        box.b = u[: n % 4 + 1]
        os.getppid()
        if n == 30:
            del box.a
            held.clear()
            os.getppid()
        u[n % 4] = -n


main()
