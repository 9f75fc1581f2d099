"""Starting programs under rdb: launchers, ranks, new job directories.

Kept light: `rdb exec` imports this in every rank of a job.
"""
