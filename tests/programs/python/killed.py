"""Is killed while Python runs."""

import os
import signal

import numpy as np


def turn(n):
    u = np.full(4, float(n))
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return u


for n in range(4):
    turn(n)
