#include "answer/syscall_inputs.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <linux/quota.h>
#include <mqueue.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "answer/seccomp_calls.h"
#include "base/user.h"

#define A(i) (ev->args[i])

enum { STRING_MAX = 1 << 17, STRINGS_MAX = 1 << 16, IOV_MOST = 1024, IPC_CMD = 0xff };

typedef void in_fn(struct event *ev);

static void in(struct event *ev, uint64_t addr, size_t len)
{
	event_sent(ev, (const void *)addr, len);
}

struct measured {
	const char *text;
	size_t len;
};

static void measure(void *arg)
{
	struct measured *m = arg;
	m->len = strnlen(m->text, STRING_MAX) + 1;
}

static void in_string(struct event *ev, uint64_t addr)
{
	struct measured m = {(const char *)addr, 0};
	if (addr && RDB_IS_UPPER(addr) && guarded_call(measure, &m))
		in(ev, addr, m.len);
}

/* A vector of strings that ends with NULL. */
static void in_strings(struct event *ev, uint64_t addr)
{
	uint64_t one, n = 0;
	for (; n < STRINGS_MAX && !user_read(&one, addr + 8 * n, 8) && one; n++)
		in_string(ev, one);
	in(ev, addr, 8 * (n + 1));
}

static void in_vector(struct event *ev, uint64_t addr, uint64_t n)
{
	struct iovec one;
	n = n < IOV_MOST ? n : IOV_MOST;
	in(ev, addr, n * sizeof(one));
	for (uint64_t i = 0; i < n && !user_read(&one, addr + i * sizeof(one), sizeof(one)); i++)
		in(ev, (uint64_t)one.iov_base, one.iov_len);
}

static void in_writev(struct event *ev)
{
	in_vector(ev, A(1), A(2));
}

static void in_message(struct event *ev, uint64_t addr, bool sends)
{
	struct msghdr m;
	if (user_read(&m, addr, sizeof(m)))
		return;
	in(ev, addr, sizeof(m));
	if (!sends) {
		in(ev, (uint64_t)m.msg_iov, (m.msg_iovlen < IOV_MOST ? m.msg_iovlen : IOV_MOST) * sizeof(*m.msg_iov));
		return;
	}
	in(ev, (uint64_t)m.msg_name, m.msg_namelen);
	in_vector(ev, (uint64_t)m.msg_iov, m.msg_iovlen);
	in(ev, (uint64_t)m.msg_control, m.msg_controllen);
}

static void in_messages(struct event *ev, bool sends)
{
	for (uint64_t i = 0; i < (uint32_t)A(2) && i < IOV_MOST; i++)
		in_message(ev, A(1) + i * sizeof(struct mmsghdr), sends);
}

static void in_sendmsg(struct event *ev)
{
	in_message(ev, A(1), true);
}

static void in_recvmsg(struct event *ev)
{
	in_message(ev, A(1), false);
}

static void in_sendmmsg(struct event *ev)
{
	in_messages(ev, true);
}

static void in_recvmmsg(struct event *ev)
{
	in_messages(ev, false);
}

static void in_ioctl(struct event *ev)
{
	in(ev, A(2), ioctl_reads((unsigned)A(1)));
}

/* fs/select.c reads whole words */
static void in_select(struct event *ev)
{
	const int n = (int)A(0);
	for (unsigned i = 1; i <= 3 && n > 0; i++)
		in(ev, A(i), ((size_t)n + 63) / 64 * 8);
}

static void in_pselect6(struct event *ev)
{
	uint64_t mask;
	in(ev, A(5), 16);
	if (!user_read(&mask, A(5), 8))
		in(ev, mask, 8);
}

static void in_shmctl(struct event *ev)
{
	if ((A(1) & IPC_CMD) == IPC_SET)
		in(ev, A(2), sizeof(struct shmid_ds));
}

static void in_msgctl(struct event *ev)
{
	if ((A(1) & IPC_CMD) == IPC_SET)
		in(ev, A(2), sizeof(struct msqid_ds));
}

static void in_semctl(struct event *ev)
{
	struct semid_ds ds;
	if ((A(2) & IPC_CMD) == IPC_SET)
		in(ev, A(3), sizeof(ds));
	else if ((A(2) & IPC_CMD) == SETALL && !raw_syscall(SYS_semctl, (long)A(0), 0, IPC_STAT, (long)&ds, 0, 0))
		in(ev, A(3), ds.sem_nsems * sizeof(unsigned short));
}

static void in_msgsnd(struct event *ev)
{
	in(ev, A(1), sizeof(long) + A(2));
}

static void in_fcntl(struct event *ev)
{
	switch (A(1)) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW: in(ev, A(2), sizeof(struct flock)); return;
	case F_SETOWN_EX:
	case F_SET_RW_HINT:
	case F_SET_FILE_RW_HINT: in(ev, A(2), 8); return;
	}
}

/* capset(2): version 1 has one set of three words, later versions have two */
static void in_capset(struct event *ev)
{
	uint32_t version = 0;
	in(ev, A(0), 8);
	user_read(&version, A(0), 4);
	in(ev, A(1), version == 0x19980330 ? 12 : 24);
}

static void in_sysfs(struct event *ev)
{
	if (A(0) == 1)
		in_string(ev, A(1));
}

static void in_prctl(struct event *ev)
{
	if (A(0) == PR_SET_NAME)
		in_string(ev, A(1));
	else if (A(0) == PR_SET_SECCOMP)
		in_seccomp(ev);
}

static void in_reboot(struct event *ev)
{
	if ((uint32_t)A(2) == 0xa1b2c3d4 /* LINUX_REBOOT_CMD_RESTART2 */)
		in_string(ev, A(3));
}

/* quotactl(2); quotactl_fd has the command second */
static void in_quotactl(struct event *ev)
{
	switch ((unsigned)(ev->nr == SYS_quotactl ? A(0) : A(1)) >> SUBCMDSHIFT) {
	case Q_QUOTAON:
		if (ev->nr == SYS_quotactl)
			in_string(ev, A(3));
		return;
	case Q_SETINFO: in(ev, A(3), sizeof(struct if_dqinfo)); return;
	case Q_SETQUOTA: in(ev, A(3), sizeof(struct if_dqblk)); return;
	}
}

/* futex(2): only these commands have a timeout as the fourth argument */
static void in_futex(struct event *ev)
{
	switch (A(1) & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2: in(ev, A(3), 16); return;
	}
}

static void in_mq_open(struct event *ev)
{
	if (A(1) & O_CREAT)
		in(ev, A(3), sizeof(struct mq_attr));
}

static void in_keyctl(struct event *ev)
{
	switch (A(0)) {
	case KEYCTL_JOIN_SESSION_KEYRING: in_string(ev, A(1)); return;
	case KEYCTL_UPDATE: in(ev, A(2), A(3)); return;
	case KEYCTL_SEARCH:
		in_string(ev, A(2));
		in_string(ev, A(3));
		return;
	case KEYCTL_INSTANTIATE: in(ev, A(2), A(3)); return;
	case KEYCTL_INSTANTIATE_IOV: in_vector(ev, A(2), A(3)); return;
	case KEYCTL_DH_COMPUTE: in(ev, A(1), 12); return;
	case KEYCTL_RESTRICT_KEYRING:
		in_string(ev, A(2));
		in_string(ev, A(3));
		return;
	}
}

/* struct file_handle begins with the number of bytes after its 8-byte header */
static void in_handle(struct event *ev)
{
	uint32_t bytes;
	if (!user_read(&bytes, A(1), 4))
		in(ev, A(1), 8 + (size_t)(bytes < 128 ? bytes : 128));
}

/* fsconfig: linux/mount.h, FSCONFIG_SET_STRING, _BINARY, _PATH, _PATH_EMPTY */
static void in_fsconfig(struct event *ev)
{
	if (A(1) == 2)
		in(ev, A(3), A(4));
	else if (A(1) == 1 || A(1) == 3 || A(1) == 4)
		in_string(ev, A(3));
}

/* struct xattr_args {value, size, flags} (linux/xattr.h) */
static void in_setxattrat(struct event *ev)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} x;
	in(ev, A(4), A(5));
	if (!user_read(&x, A(4), sizeof(x)))
		in(ev, x.value, x.size);
}

/* ---- the table ---- */

enum input_kind { I_END, I_STR, I_LIST, I_FIX, I_BUF, I_ARR, I_BITS, I_SIZED, I_FN };

struct input {
	uint8_t kind, arg, count;
	uint16_t size;
	in_fn *fn;
};

/* clang-format off */
#define STR(a) {.kind = I_STR, .arg = (a)}
#define LIST(a) {.kind = I_LIST, .arg = (a)}
#define FIX(a, n) {.kind = I_FIX, .arg = (a), .size = (n)}
#define BUF(a, l) {.kind = I_BUF, .arg = (a), .count = (l)}
#define ARR(a, c, n) {.kind = I_ARR, .arg = (a), .count = (c), .size = (n)}
#define BITS(a, c) {.kind = I_BITS, .arg = (a), .count = (c)}
#define SIZED(a) {.kind = I_SIZED, .arg = (a)}
#define FN(f) {.kind = I_FN, .fn = (f)}
/* clang-format on */

enum {
#define NR(name, number) NR_##name = number,
#include "arch/syscall_numbers.def"
#undef NR
};

enum { INPUTS = 4 };

#define IN(name, ...) [NR_##name] = {__VA_ARGS__},
#define NOT(name, arg, reason)
static const struct input inputs[][INPUTS] = {
#include "answer/syscall_inputs.def"
};

static void one_input(struct event *ev, const struct input *i)
{
	uint32_t size;
	switch (i->kind) {
	case I_STR: in_string(ev, A(i->arg)); break;
	case I_LIST: in_strings(ev, A(i->arg)); break;
	case I_FIX: in(ev, A(i->arg), i->size); break;
	case I_BUF: in(ev, A(i->arg), A(i->count)); break;
	case I_ARR: in(ev, A(i->arg), (A(i->count) < 1 << 24 ? A(i->count) : 0) * i->size); break;
	case I_BITS: in(ev, A(i->arg), ((A(i->count) < 1 << 20 ? A(i->count) : 0) + 63) / 64 * 8); break;
	case I_SIZED:
		if (!user_read(&size, A(i->arg), 4))
			in(ev, A(i->arg), size < RDB_PAGE ? size : RDB_PAGE);
		break;
	case I_FN: i->fn(ev); break;
	}
}

bool syscall_string_there(uint64_t addr)
{
	struct measured m = {(const char *)addr, 0};
	return !addr || guarded_call(measure, &m);
}

static bool strings_there(uint64_t addr)
{
	uint64_t one = 0;
	do {
		if (addr && user_read(&one, addr, sizeof(one)))
			return false;
		if (!syscall_string_there(one))
			return false;
		addr += sizeof(one);
	} while (one);
	return true;
}

bool syscall_strings_there(const struct event *ev)
{
	if (ev->nr >= sizeof(inputs) / sizeof(*inputs))
		return true;
	for (const struct input *i = inputs[ev->nr]; i < inputs[ev->nr] + INPUTS && i->kind; i++)
		if ((i->kind == I_STR && !syscall_string_there(A(i->arg))) ||
		    (i->kind == I_LIST && !strings_there(A(i->arg))))
			return false;
	return true;
}

void syscall_inputs(struct event *ev)
{
	if (!recording() || !lower.started || lower.opt.check == CHECK_OFF ||
	    ev->nr >= sizeof(inputs) / sizeof(*inputs))
		return;
	for (const struct input *i = inputs[ev->nr]; i < inputs[ev->nr] + INPUTS && i->kind; i++)
		one_input(ev, i);
}
