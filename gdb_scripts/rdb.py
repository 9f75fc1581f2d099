"""The GDB extension of rdb: `gdb -x gdb_scripts/rdb.py`, then `rdb-open JOB [RANK]`.

It uses only the standard library, and needs GDB 12 or newer with Python 3.9 or newer, which may be
older than rdb's own.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rdb_gdb

rdb_gdb.load()
