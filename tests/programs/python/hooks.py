"""Callbacks in Python.  argv: the file to wait for; a word: the one before a checkpoint raises."""

import sys
import time
from pathlib import Path

import rdb.hooks

called = {"before": 0, "after": 0, "restart": 0}


@rdb.hooks.before_checkpoint
def before() -> None:
    called["before"] += 1
    if len(sys.argv) > 2:
        raise ValueError("not now")


@rdb.hooks.after_checkpoint
def after() -> None:
    called["after"] += 1


@rdb.hooks.after_restart
def restart() -> None:
    called["restart"] += 1


print("there", flush=True)
while not Path(sys.argv[1]).exists():
    rdb.hooks.safe_point()
    time.sleep(0.001)
rdb.hooks.safe_point()
some = {name: count > 0 for name, count in called.items()}
heavy = sorted({"rich", "numpy", "asyncio"} & set(sys.modules))
print("over", rdb.hooks.generation(), *some.values(), rdb.hooks.data("answer"), heavy)
