"""A job under debug: its ranks, the focus, one GDB per focused rank, the history and undo.

This layer returns data and prints nothing; rdb/console and rdb/cli print.
"""
