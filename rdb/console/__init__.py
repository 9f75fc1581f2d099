"""`rdb attach`: the console over all ranks of a recorded job."""
