"""What the logs of several ranks say together: messages, causes, waits."""
