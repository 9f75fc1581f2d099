"""Replicas: processes that run a recording, alone, and can be stopped anywhere."""
