"""stress-ng: some 270 small programs, each of which uses one part of the kernel in all its ways."""

PACKAGES = ("stress-ng",)

# They use up the machine's memory, processes or time natively, or go through all of /proc and /sys.
LEFT_OUT = frozenset(
    {
        *("bigheap", "brk", "dev", "dirdeep", "forkheavy", "mlockmany", "oom-pipe", "physpage"),
        *("procfs", "resources", "rlimit", "softlockup", "swap", "sysfs", "sysinval"),
    }
)
# What rdb refuses to the program, or does otherwise: docs/syscalls.md, docs/recording.md.
REFUSED = {
    "aiol": "io_setup(2) is not there",
    "dup": "clone(2) with CLONE_VM and CLONE_FILES makes a copy",
    "hrtimers": "timers expire sooner than rdb takes their signals",
    "io-uring": "more than 1024 shared mappings",
    "timer": "a timer expires sooner than rdb takes its signals",
    "vm-segv": "ptrace(2) is refused",
}
