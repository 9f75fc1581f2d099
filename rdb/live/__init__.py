"""Going live again: from which image, up to which event, and the job that becomes of it."""
