"""`python -m languages`: the Debian packages that `make test-languages` needs."""

from languages import PACKAGES

print(*PACKAGES)
