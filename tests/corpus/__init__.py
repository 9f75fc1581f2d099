"""Real programs of the distribution, each recorded, and every process of it replayed alone.

`make test` runs a small sample, `make test-corpus` all of it.  programs.py is the table.
"""
