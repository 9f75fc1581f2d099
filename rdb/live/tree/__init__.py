"""Programs with child processes: their processes at the cut, and what these share."""
