"""python3 -m corpus: the Debian packages of the whole corpus, for `make test-corpus`."""

from __future__ import annotations

from corpus.programs import PROGRAMS

print(*sorted({name for e in PROGRAMS for name in e.packages.split()}))
