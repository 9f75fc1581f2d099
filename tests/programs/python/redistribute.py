"""Each rank adds 10 to its rows four times; redistribute() gives it those of before."""

import os
from array import array

from rdb import hooks

TOTAL = 11
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
mine = hooks.cyclic(TOTAL, 2, rank, ranks)
numbers = [
    mine.first + done // mine.block * mine.step + done % mine.block for done in range(mine.number)
]
memory = array("q", [number for number in numbers for _ in range(3)])
rows = memoryview(memory).cast("B").cast("q", (mine.number, 3)) if mine.number else memory
step = array("q", [0])
if hooks.redistribute("step", step, hooks.block(1, 0, 1)):
    assert hooks.redistribute("a", rows, mine)
assert hooks.distribute("step", step, hooks.block(1, 0, 1))
assert hooks.distribute("a", rows, mine)
while step[0] < 4:
    for at in range(len(memory)):
        memory[at] += 10
    step[0] += 1
    if step[0] == 2 and ranks == 1:
        assert hooks.checkpoint()
lines = [" ".join(map(str, ("row", *memory[at : at + 3]))) for at in range(0, len(memory), 3)]
os.write(1, "".join(f"{line}\n" for line in lines).encode())  # whole lines
