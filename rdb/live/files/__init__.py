"""Files that the job wrote: their contents for a branch."""
