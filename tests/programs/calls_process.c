/* What a process asks about itself and the machine: prctl, sysinfo, rusage, times, limits, scheduling, ids,
 * keys, its own memory through process_vm_readv, and a pty. */
#include "calls.h"
#include <grp.h>
#include <pty.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <termios.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>

static void forms_of_prctl(void)
{
	char name[16];
	int sig = 99;
	NEED(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "renamed"));
	NEED(prctl(PR_SET_PDEATHSIG, 15) == 0 && prctl(PR_GET_PDEATHSIG, &sig) == 0 && sig == 15);
	NEED(prctl(PR_SET_PDEATHSIG, 0) == 0 && prctl(PR_GET_CHILD_SUBREAPER, &sig) == 0);
	NEED(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	NEED(prctl(PR_GET_SECCOMP) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	NEED(prctl(12345) == -1 && errno == EINVAL && prctl(PR_GET_TIMERSLACK) > 0);
}

static void machine(void)
{
	struct sysinfo si;
	struct rusage ru;
	struct tms t;
	struct utsname u;
	struct rlimit rl;
	struct timex tx = {0};
	cpu_set_t cpus;
	struct sched_param sp;
	gid_t groups[64];
	char bytes[32];
	NEED(sysinfo(&si) == 0 && getrusage(RUSAGE_SELF, &ru) == 0 && times(&t) != -1 && uname(&u) == 0);
	NEED(getrlimit(RLIMIT_NOFILE, &rl) == 0 && prlimit(0, RLIMIT_STACK, NULL, &rl) == 0 && adjtimex(&tx) >= 0);
	NEED(sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && sched_getparam(0, &sp) == 0);
	NEED(getpriority(PRIO_PROCESS, 0) >= -20 && getrandom(bytes, 32, 0) == 32 && getgroups(0, groups) >= 0);
	NEED(getgroups(64, groups) >= 0);
	uint32_t attr[32];
	NEED(syscall(SYS_sched_getattr, 0, attr, sizeof(attr), 0) == 0);
	long key = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 0);
	char about[128];
	if (key > 0)
		syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, about, sizeof(about));
}

static void refused(void)
{
	NEED(syscall(425 /* io_uring_setup */, 8, NULL) == -1 && errno == ENOSYS);
	NEED(syscall(SYS_userfaultfd, 0) == -1 && errno == ENOSYS);
	NEED(prctl(PR_SET_SECCOMP, 2, NULL) == -1 && errno == EFAULT);
	NEED(syscall(SYS_seccomp, 1, 0, NULL) == -1 && errno == EFAULT);
	NEED(syscall(SYS_ptrace, 0, 0, 0, 0) == -1 && errno == EPERM);
	struct perf_event_attr pe = {.size = sizeof(pe)};
	NEED(syscall(SYS_perf_event_open, &pe, 0, -1, -1, 0) == -1 && errno == ENOSYS);
	NEED(syscall(SYS_pkey_alloc, 0, 0) == -1 && errno == ENOSPC);
}

static void own_memory(void)
{
	char from[64] = "the program's own words", to[64] = "";
	struct iovec l[2] = {{to, 10}, {to + 10, 50}}, r = {from, 24};
	NEED(process_vm_readv(getpid(), l, 2, &r, 1, 0) == 24 && !strcmp(from, to));
	struct iovec w = {"changed", 7};
	NEED(process_vm_writev(getpid(), &w, 1, &r, 1, 0) == 7 && !strncmp(from, "changed", 7));
}

static void pty(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), n = -1, unlock = 0, waiting;
	struct termios t;
	struct winsize ws = {24, 80, 0, 0};
	char name[64], buf[64];
	NEED(master >= 0 && ioctl(master, TIOCGPTN, &n) == 0 && ioctl(master, TIOCSPTLCK, &unlock) == 0);
	NEED(ptsname_r(master, name, sizeof(name)) == 0);
	int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (slave < 0)
		slave = open(name, O_RDWR | O_NOCTTY);
	NEED(slave >= 0 && isatty(slave) && tcgetattr(slave, &t) == 0);
	cfmakeraw(&t);
	NEED(tcsetattr(slave, TCSANOW, &t) == 0 && ioctl(master, TIOCSWINSZ, &ws) == 0);
	NEED(ioctl(slave, TIOCGWINSZ, &ws) == 0 && ws.ws_col == 80 && ioctl(slave, FIONREAD, &waiting) == 0);
	NEED(write(master, "typed\n", 6) == 6 && read(slave, buf, sizeof(buf)) == 6);
	NEED(write(slave, "shown", 5) == 5 && read(master, buf, sizeof(buf)) == 5);
	NEED(tcdrain(slave) == 0 && tcflush(slave, TCIOFLUSH) == 0);
}

int main(int argc, char **argv)
{
	forms_of_prctl();
	machine();
	if (argc > 1) /* recorded */
		refused();
	own_memory();
	pty();
	puts("ok");
}
