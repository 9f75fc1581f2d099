"""Rows of requests that the program completes, and of what joins processes that did not start together."""

from __future__ import annotations

from .rows import Row, add

add("Grequest_start Grequest_complete", Row(real="hand"))
