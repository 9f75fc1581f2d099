"""Programs with child processes: who they are at the cut, and what they share."""
