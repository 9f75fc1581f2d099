"""GDB's state for the user as values that can be compared and restored, and its history."""
