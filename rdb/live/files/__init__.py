"""Files that the job wrote: what a branch is to find of them."""
