"""Moving along a recording: seeking, going back, bisecting, finding the last write."""
