"""What the logs of several ranks tell together: messages, causes, waits."""
