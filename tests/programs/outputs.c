/* Hands the bytes of its input to the world in every way that a system call has: each way is a read of the input and
 * then one call that is given it.  A replay in which one read gives other bytes must differ at the call behind it.
 *
 * WAY(name, statement): by hand.  The rest is made from the table of inputs: for a row a call whose arguments are the
 * buffer where the row says so, and mostly fails for the others, which does not matter. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

enum { BYTES = 1024 }; /* a record of them is none of those that are shortened */
static char input[BYTES] __attribute__((aligned(4096)));
static char large[1 << 20];
static int from, null, ends[2];

static void next(void)
{
	if (pread(from, input, BYTES, 0) != BYTES)
		exit(3);
}

static long call(long nr, const uint64_t *a)
{
	return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- from the table ---- */

enum kind { END, STRING, PLACE, BUFFER, MASK, SIZE, FUNCTION };
struct spec {
	enum kind kind;
	unsigned arg, count;
};
#define STR(a) {STRING, a, 0}
#define LIST(a) {FUNCTION, 0, 0} /* by hand */
#define FIX(a, n) {PLACE, a, 0}
#define BUF(a, l) {BUFFER, a, l}
#define ARR(a, c, n) {BUFFER, a, c}
#define BITS(a, c) {MASK, a, c}
#define SIZED(a) {SIZE, a, 0}
#define FN(f) {FUNCTION, 0, 0}
#define IN(name, ...) {#name, NR_##name, {__VA_ARGS__}},
#define NOT(name, argument, reason)
enum {
#define NR(name, number) NR_##name = number,
#include "arch/syscall_numbers.def"
};
static const struct {
	const char *name;
	long nr;
	struct spec spec[4];
} rows[] = {
#include "answer/syscall_inputs.def"
};

/* These would wait, or take something away that the rest needs; some of them are below. */
static const char left_out[] = " rt_sigsuspend clone3 rt_sigprocmask sigaltstack setrlimit prlimit64 ";

static void table(void)
{
	for (unsigned r = 0; r < sizeof(rows) / sizeof(*rows); r++) {
		uint64_t a[6] = {0};
		char word[64];
		int function = 0;
		snprintf(word, sizeof(word), " %s ", rows[r].name);
		for (const struct spec *s = rows[r].spec; s < rows[r].spec + 4 && s->kind; s++) {
			function |= s->kind == FUNCTION;
			if (s->kind != FUNCTION)
				a[s->arg] = (uint64_t)input;
			if (s->kind == BUFFER)
				a[s->count] = 4;
			if (s->kind == MASK)
				a[s->count] = 64;
		}
		if (function || strstr(left_out, word))
			continue;
		dprintf(null, "%s\n", rows[r].name);
		next();
		call(rows[r].nr, a);
	}
}

/* ---- by hand ---- */

#define WAY(name, statement) \
	dprintf(null, "%s\n", name); \
	next(); \
	statement;

static void by_hand(void)
{
	struct iovec v[2] = {{large, 3}, {input, 5}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	struct mmsghdr mm[2] = {{.msg_hdr = m}, {.msg_hdr = m}};
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr head;
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = 99}};
	struct {
		uint64_t mask, size;
	} pselect6 = {(uint64_t)input, 8};
	char *strings[3] = {"one", input, NULL};
	struct {
		uint64_t value;
		uint32_t size, flags;
	} xattr = {(uint64_t)input, 4, 0};

	WAY("writev", writev(null, v, 2))
	WAY("pwritev", pwritev(null, v, 2, 0))
	WAY("pwritev2", pwritev2(null, v, 2, 0, 0))
	WAY("vmsplice", vmsplice(ends[1], v, 2, 0))
	WAY("process_vm_writev", process_vm_writev(1 << 22, v, 2, v, 2, 0))
	WAY("sendmsg", sendmsg(ends[0], &m, MSG_DONTWAIT))
	m.msg_name = input;
	m.msg_namelen = 9;
	m.msg_iovlen = 1;
	WAY("sendmsg", sendmsg(ends[0], &m, MSG_DONTWAIT)) /* the address */
	m.msg_name = NULL;
	m.msg_namelen = 0;
	m.msg_control = &control;
	m.msg_controllen = sizeof(control.room);
	WAY("sendmsg", memcpy(CMSG_DATA(&control.head), input, 4); sendmsg(ends[0], &m, MSG_DONTWAIT))
	WAY("sendmmsg", sendmmsg(ends[0], mm, 2, MSG_DONTWAIT))
	WAY("recvmsg", memcpy(large, input, 8); m.msg_control = NULL; m.msg_controllen = 0; m.msg_flags = large[0];
	    recvmsg(ends[0], &m, MSG_DONTWAIT))
	WAY("ioctl", ioctl(null, TCSETS, input))
	WAY("ioctl", ioctl(null, TIOCSWINSZ, input))
	WAY("ioctl", ioctl(null, _IOW('x', 1, char[16]), input))
	WAY("select", syscall(SYS_select, 8, input, NULL, NULL, input))
	WAY("pselect6", syscall(SYS_pselect6, 0, NULL, NULL, NULL, input, &pselect6))
	WAY("execve", execve("/not/there", strings, NULL))
	WAY("execve", execve("/not/there", NULL, strings))
	WAY("execve", execve(input, NULL, NULL))
	WAY("execveat", syscall(SYS_execveat, -1, "not there", strings, strings, 0))
	WAY("shmctl", shmctl(-1, IPC_SET, (void *)input))
	WAY("msgctl", msgctl(-1, IPC_SET, (void *)input))
	WAY("semctl", syscall(SYS_semctl, -1, 0, IPC_SET, input))
	WAY("msgsnd", msgsnd(-1, input, 8, IPC_NOWAIT))
	WAY("fcntl", fcntl(null, F_SETLK, input))
	WAY("fcntl", fcntl(null, F_OFD_SETLK, input))
	WAY("capset", syscall(SYS_capset, large, input))
	WAY("prctl", prctl(PR_SET_NAME, input))
	WAY("futex", syscall(SYS_futex, large, FUTEX_WAIT, 7, input))
	WAY("mq_open", syscall(SYS_mq_open, "not there", O_CREAT | O_RDONLY, 0, input))
	WAY("seccomp", syscall(SYS_seccomp, 1, 0, (uint64_t[]){1, (uint64_t)input}))
	WAY("keyctl", syscall(SYS_keyctl, KEYCTL_UPDATE, 0, input, 8))
	WAY("open_by_handle_at", memcpy(large, "\10\0\0\0", 4); memcpy(large + 8, input, 8);
	    syscall(SYS_open_by_handle_at, -1, large, 0))
	WAY("sysfs", syscall(SYS_sysfs, 1, input))
	WAY("quotactl", syscall(SYS_quotactl, QCMD(Q_SETINFO, 0), "/not/there", 0, input))
	WAY("quotactl", syscall(SYS_quotactl, QCMD(Q_GETFMT, 0), input, 0, NULL))
	WAY("quotactl_fd", syscall(443, -1, QCMD(Q_SETQUOTA, 0), 0, input))
	WAY("recvmmsg", memcpy(v, input, 16); syscall(SYS_recvmmsg, -1, mm, 1, 0, NULL))
	WAY("fsconfig", syscall(431, -1, 1, NULL, input, 0))
	WAY("setxattrat", syscall(463, -1, "", 0, "user.x", &xattr, 16))
	WAY("rt_sigprocmask", syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, input, NULL, 8))
	WAY("exit of 1 MiB", memcpy(large + 70000, input, BYTES); write(null, large, sizeof(large)))
	WAY("read of an array", memcpy(v, input, 16); readv(-1, v, 2))
}

int main(int argc, char **argv)
{
	from = open(argv[1], O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	if (from < 0 || null < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return 2;
	if (setresuid(65534, 65534, 65534) && geteuid() == 0)
		return 2;
	by_hand();
	table();
	return argc;
}
