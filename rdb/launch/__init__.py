"""Starting programs under rdb: launchers, ranks, new job directories.

Kept light: every rank imports it in `rdb exec`.
"""
