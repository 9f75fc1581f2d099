"""Virtual machines with real kernel verbs: Debian's stock kernel, soft-RoCE (rdma_rxe), qemu.

A guest's root is the host's own, read-only, below a tmpfs: the same programs at the same paths, and
what is written there is gone with the guest.  Booting takes seconds and everything inside is slower
by an order of magnitude, so guests are booted once and given one command after the other.
"""

# What `make test-rdma` installs: for the machine, then for the tests.
PACKAGES = (
    "qemu-system-x86 busybox-static kmod iproute2 "
    "ibverbs-providers ibverbs-utils rdmacm-utils perftest python3-pyverbs rdma-core "
    "openssh-server openssh-client"
)
