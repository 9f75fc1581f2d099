"""Replicas: processes that replay one rank and can be stopped at any instruction."""
