"""python3 -m corpus: the Debian packages of the whole corpus, for `make test-corpus`."""

from __future__ import annotations

from corpus.programs import PROGRAMS, THREADED

print(*sorted({name for e in (*PROGRAMS, *THREADED) for name in e.packages.split()}))
