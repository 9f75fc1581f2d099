"""`rdb attach`: the console over all ranks of a recorded job."""

from rdb.console.app import main

__all__ = ["main"]
