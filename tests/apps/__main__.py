"""`python -m apps`: the Debian packages that `make test-apps` needs."""

from apps import PACKAGES

print(*PACKAGES)
