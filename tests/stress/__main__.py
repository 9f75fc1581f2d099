"""`python -m stress`: the Debian packages that `make test-stress` needs."""

from stress import PACKAGES

print(*PACKAGES)
