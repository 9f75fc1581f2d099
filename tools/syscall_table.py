"""The kernel's list of calls: syscall_numbers.def of interposer, rdb/recording/log/syscalls.py.

Numbers and names are those of <asm/unistd_64.h>; NEWER adds what this machine's header does not
name yet, from arch/x86/entry/syscalls/syscall_64.tbl of Linux 6.18.  Signatures are from here.

A signature has one letter an argument: d int, l signed long, a directory, u unsigned, p pointer,
x flags, o mode.  Calls without one are shown without arguments.
Run: .venv/bin/python3 tools/syscall_table.py
"""

import re
from pathlib import Path

HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "rdb" / "recording" / "log" / "syscalls.py"
NUMBERS = ROOT / "interposer" / "arch/x86_64/answer/syscall_numbers.def"

# arch/x86/entry/syscalls/syscall_64.tbl, Linux 6.18: common and 64; x32 is not supported.
NEWER = """
uretprobe=335 uprobe=336 cachestat=451 fchmodat2=452 map_shadow_stack=453 futex_wake=454
futex_wait=455 futex_requeue=456 statmount=457 listmount=458 lsm_get_self_attr=459
lsm_set_self_attr=460 lsm_list_modules=461 mseal=462 setxattrat=463 getxattrat=464 listxattrat=465
removexattrat=466 open_tree_attr=467 file_getattr=468 file_setattr=469 listns=470
"""

# man 2 of each call; argument kinds only.
SIGNATURES = """
read=dpu write=dpu open=pxo close=d stat=pp fstat=dp lstat=pp poll=pud lseek=dld mmap=puxxdu
mprotect=pux munmap=pu brk=p rt_sigaction=dppu rt_sigprocmask=dppu rt_sigreturn= ioctl=dxp
pread64=dpul pwrite64=dpul readv=dpd writev=dpd access=px pipe=p select=dpppp sched_yield=
mremap=puuxp msync=pux mincore=pup madvise=pud shmget=dux shmat=dpx shmctl=ddp dup=d dup2=dd
pause= nanosleep=pp getitimer=dp alarm=u setitimer=dpp getpid= sendfile=ddpu socket=ddd
connect=dpu accept=dpp sendto=dpuxpu recvfrom=dpuxpp sendmsg=dpx recvmsg=dpx shutdown=dd
bind=dpu listen=dd getsockname=dpp getpeername=dpp socketpair=dddp setsockopt=dddpu
getsockopt=dddpp clone=xpppp fork= vfork= execve=ppp exit=d wait4=dpxp kill=dd uname=p
fcntl=ddx flock=dd fsync=d fdatasync=d truncate=pl ftruncate=dl getdents=dpu getcwd=pu chdir=p
fchdir=d rename=pp mkdir=po rmdir=p creat=po link=pp unlink=p symlink=pp readlink=ppu chmod=po
fchmod=do chown=pdd fchown=ddd lchown=pdd umask=o gettimeofday=pp getrlimit=dp getrusage=dp
sysinfo=p times=p ptrace=ddpp getuid= getgid= setuid=d setgid=d geteuid= getegid= setpgid=dd
getppid= getpgrp= setsid= setreuid=dd setregid=dd getgroups=dp setgroups=dp setresuid=ddd
getresuid=ppp setresgid=ddd getresgid=ppp getpgid=d getsid=d rt_sigpending=pu
rt_sigtimedwait=pppu rt_sigqueueinfo=ddp rt_sigsuspend=pu sigaltstack=pp utime=pp mknod=pou
personality=x statfs=pp fstatfs=dp getpriority=dd setpriority=ddd sched_setparam=dp
sched_getparam=dp sched_setscheduler=ddp sched_getscheduler=d sched_get_priority_max=d
sched_get_priority_min=d mlock=pu munlock=pu mlockall=x munlockall= prctl=dxxxx arch_prctl=dp
setrlimit=dp sync= gettid= readahead=dlu tkill=dd time=p futex=pdupp sched_setaffinity=dup
sched_getaffinity=dup epoll_create=d getdents64=dpu set_tid_address=p restart_syscall=
fadvise64=dlld timer_create=dpp timer_settime=dxpp timer_gettime=dp timer_getoverrun=d
timer_delete=d clock_settime=dp clock_gettime=dp clock_getres=dp clock_nanosleep=dxpp
exit_group=d epoll_wait=dpdd epoll_ctl=dddp tgkill=ddd utimes=pp mbind=pudpux
get_mempolicy=ppupx set_mempolicy=dpu waitid=ddpxp inotify_init= inotify_add_watch=dpx
inotify_rm_watch=dd openat=apxo mkdirat=apo mknodat=apou fchownat=apddx futimesat=app
newfstatat=appx unlinkat=apx renameat=apap linkat=apapx symlinkat=pap readlinkat=appu
fchmodat=apo faccessat=apx pselect6=dppppp ppoll=puppu unshare=x set_robust_list=pu
get_robust_list=dpp splice=dpdpux tee=ddux sync_file_range=dllx vmsplice=dpux utimensat=appx
epoll_pwait=dpddpu signalfd=dpu timerfd_create=dx eventfd=u fallocate=dxll timerfd_settime=dxpp
timerfd_gettime=dp accept4=dppx signalfd4=dpux eventfd2=ux epoll_create1=x dup3=ddx pipe2=px
inotify_init1=x preadv=dpduu pwritev=dpduu perf_event_open=pdddx recvmmsg=dpuxp prlimit64=ddpp
syncfs=d sendmmsg=dpux setns=dx getcpu=ppp process_vm_readv=dpupux process_vm_writev=dpupux
renameat2=apapx seccomp=dxp getrandom=pux memfd_create=px execveat=apppx userfaultfd=x
membarrier=dxd mlock2=pux copy_file_range=dpdpux preadv2=dpduux pwritev2=dpduux
pkey_mprotect=puxd statx=apxxp rseq=puxx pidfd_send_signal=ddpx pidfd_open=dx clone3=pu
close_range=uux openat2=appu pidfd_getfd=ddx faccessat2=apxx process_madvise=dpudx
epoll_pwait2=dpdppu semget=ddx semop=dpu semctl=dddx shmdt=p msgget=dx msgsnd=dpux msgrcv=dpulx
msgctl=ddp semtimedop=dpup mq_open=pxop mq_unlink=p mq_timedsend=dpuup mq_timedreceive=dpupp
mq_notify=dp mq_getsetattr=dpp syslog=dpd ustat=up adjtimex=p clock_adjtime=dp chroot=p mount=pppxp
umount2=px sethostname=pu keyctl=dxxxx add_key=pppud request_key=pppd quotactl=xpdp
name_to_handle_at=apppx open_by_handle_at=dpx fanotify_init=xx fanotify_mark=dxxdp futimesat=app
setxattr=pppux lsetxattr=pppux fsetxattr=dppux getxattr=pppu lgetxattr=pppu fgetxattr=dppu
listxattr=ppu llistxattr=ppu flistxattr=dpu removexattr=pp lremovexattr=pp fremovexattr=dp
sched_setattr=dpx sched_getattr=dpux ioprio_get=dd ioprio_set=ddx kcmp=ddduu capget=pp capset=pp
sched_rr_get_interval=dp pkey_alloc=xx pkey_free=d memfd_secret=x bpf=dpu
landlock_create_ruleset=pux landlock_add_rule=ddpx landlock_restrict_self=dx process_mrelease=dx
futex_waitv=puxpd
cachestat=dppx fchmodat2=apox mseal=pux statmount=ppux listmount=ppux setxattrat=apxppu
getxattrat=apxppu listxattrat=apxpu removexattrat=apxp io_setup=up io_uring_setup=up
remap_file_pages=puxux
setfsuid=d setfsgid=d sysfs=dpp munlockall= vhangup= pivot_root=pp sync= acct=p settimeofday=pp
swapon=pd swapoff=p reboot=xxxp setdomainname=pu init_module=pup delete_module=px
kexec_load=uupx inotify_init= migrate_pages=dupp move_pages=dupppd rt_tgsigqueueinfo=dddp
finit_module=dpx kexec_file_load=ddupx open_tree=dpx move_mount=dpdpx fsopen=px fsconfig=dxppd
fsmount=dxx fspick=dpx mount_setattr=dpxpu quotactl_fd=dxup set_mempolicy_home_node=puux
lsm_get_self_attr=xppx lsm_set_self_attr=xpux lsm_list_modules=ppx open_tree_attr=dpxpu
file_getattr=dppux file_setattr=dppux listns=ppux
"""


def main() -> None:
    signatures = dict(item.split("=") for item in SIGNATURES.split())
    numbers = {
        name: int(number)
        for name, number in re.findall(
            r"^#define __NR_(\w+)\s+(\d+)", HEADER.read_text(encoding="ascii"), re.MULTILINE
        )
    }
    for item in NEWER.split():
        name, number = item.split("=")
        numbers.setdefault(name, int(number))
    NUMBERS.write_text(
        "/* The kernel's list of calls, x86-64: NR(name, number).  Made by tools/syscall_table.py\n"
        " * from <asm/unistd_64.h> and arch/x86/entry/syscalls/syscall_64.tbl of Linux 6.18; do\n"
        " * not edit. */\n"
        + "".join(f"NR({n}, {v})\n" for n, v in sorted(numbers.items(), key=lambda item: item[1])),
        encoding="ascii",
    )
    unknown = set(signatures) - set(numbers)
    if unknown:
        raise SystemExit(f"not in {HEADER}: {sorted(unknown)}")
    lines = [
        '"""System calls of x86-64 Linux: number -> (name, signature).  Generated, see the source.',
        "",
        "Made by tools/syscall_table.py from <asm/unistd_64.h>; do not edit.",
        '"""',
        "",
        "SYSCALLS: dict[int, tuple[str, str | None]] = {",
    ]
    for name, number in sorted(numbers.items(), key=lambda item: item[1]):
        signature = f'"{signatures[name]}"' if name in signatures else "None"
        lines.append(f'    {number}: ("{name}", {signature}),')
    lines.append("}")
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
