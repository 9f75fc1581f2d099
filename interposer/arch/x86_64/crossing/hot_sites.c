#include "crossing/hot_sites.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "crossing/filters.h"
#include "interface/gate.h"
#include "arch/x86_64/text/escape.h"
#include "arch/x86_64/text/hot_stubs.h"
#include "arch/x86_64/text/starts.h"
#include "crossing/source.h"
#include "base/thread.h"

enum { SITES = 512, CHAINS = 24, SYSCALL = 0x05 };
enum { XSAVE_ROOM = 16384 }; /* context_gate.inc */

/* Fields of a kernel's signal frame that describe it. */
static struct {
	bool known;
	uint8_t sw[SW_LEN];
	uint32_t xstate_len;
	uint64_t csgsfs;
} frame;

/* Not included: calls that make or end threads and processes, return from a handler, or have a signal mask of their
 * own, which is restored only after a handler has been entered. */
static const uint16_t hot_numbers[] = {
	SYS_read,         SYS_write,         SYS_open,       SYS_close,
	SYS_stat,         SYS_fstat,         SYS_lstat,      SYS_poll,
	SYS_lseek,        SYS_mmap,          SYS_mprotect,   SYS_munmap,
	SYS_brk,          SYS_rt_sigaction,  SYS_ioctl,      SYS_pread64,
	SYS_pwrite64,     SYS_readv,         SYS_writev,     SYS_access,
	SYS_pipe,         SYS_sched_yield,   SYS_madvise,    SYS_dup,
	SYS_dup2,         SYS_nanosleep,     SYS_getpid,     SYS_sendfile,
	SYS_socket,       SYS_sendto,        SYS_recvfrom,   SYS_sendmsg,
	SYS_recvmsg,      SYS_uname,         SYS_fcntl,      SYS_fsync,
	SYS_fdatasync,    SYS_ftruncate,     SYS_getcwd,     SYS_chdir,
	SYS_fchdir,       SYS_rename,        SYS_mkdir,      SYS_unlink,
	SYS_readlink,     SYS_umask,         SYS_getrlimit,  SYS_getrusage,
	SYS_times,        SYS_getuid,        SYS_getgid,     SYS_geteuid,
	SYS_getegid,      SYS_getppid,       SYS_gettid,     SYS_futex,
	SYS_getdents64,   SYS_clock_gettime, SYS_epoll_wait, SYS_epoll_ctl,
	SYS_openat,       SYS_newfstatat,    SYS_unlinkat,   SYS_readlinkat,
	SYS_faccessat,    SYS_pipe2,         SYS_getrandom,  SYS_statx,
	SYS_getcpu,       SYS_prlimit64,     SYS_statfs,     SYS_fstatfs,
	SYS_clock_getres, SYS_getpriority,   SYS_faccessat2, SYS_clock_nanosleep,
};

static bool hot(uint32_t nr)
{
	for (unsigned i = 0; i < sizeof(hot_numbers) / sizeof(*hot_numbers); i++)
		if (hot_numbers[i] == nr)
			return true;
	return false;
}

/* ---- the sites ---- */

static unsigned find(const uint8_t *begin, const uint8_t *end, const uint8_t *sites[SITES])
{
	unsigned n = 0;
	for (const uint8_t *p = begin; n < SITES && (p = escape_next(p, end, SYSCALL, SYSCALL)); p += 2) {
		const uint8_t *mov = p - HOT_SITE;
		uint32_t nr;
		if (mov < begin || *mov != 0xb8)
			continue;
		memcpy(&nr, mov + 1, sizeof(nr));
		if (hot(nr) && text_starts_within(begin, mov, end, CHAINS))
			sites[n++] = mov;
	}
	return n;
}

static bool is_libc(const char *path)
{
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	return !strncmp(base, "libc.so.6", 9) || !strncmp(base, "libc-2.", 7);
}

static bool wanted(void)
{
	const char *knob = getenv("RDB_HOT_SITES");
	return !knob || strcmp(knob, "0") != 0;
}

void hot_sites_look(uint64_t at, size_t len, const char *path)
{
	uint8_t *sites[SITES];
	if (replaying() || lower.started || !is_libc(path) || !wanted())
		return;
	unsigned n = find((const uint8_t *)at, (const uint8_t *)at + len, (const uint8_t **)sites);
	size_t room = (n * HOT_STUB + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	if (!n || at + len - RDB_STUBS > INT32_MAX)
		return;
	/* fails if there are stubs already: a second C library stays unpatched */
	void *p = mmap((void *)RDB_STUBS, room, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		return;
	uint8_t *stubs = p;
	for (unsigned i = 0; i < n; i++)
		hot_stub_make(stubs + i * HOT_STUB, sites[i]);
	if (p != (void *)RDB_STUBS || mprotect(p, room, PROT_READ | PROT_EXEC) ||
	    mprotect((void *)at, len, PROT_READ | PROT_WRITE)) {
		munmap(p, room);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		hot_site_redirect(sites[i], stubs + i * HOT_STUB);
	if (mprotect((void *)at, len, PROT_READ | PROT_EXEC))
		rdb_fatal("%s cannot be made executable again: %s", path, strerror(errno));
}

/* ---- the calls ---- */

void hot_sites_learn(const ucontext_t *uc)
{
	const uint8_t *fp = (const uint8_t *)uc->uc_mcontext.fpregs;
	uint32_t magic, whole;
	if (frame.known || !fp)
		return;
	memcpy(frame.sw, fp + SW_BYTES, SW_LEN);
	memcpy(&magic, frame.sw, sizeof(magic));
	memcpy(&whole, frame.sw + 4, sizeof(whole));
	memcpy(&frame.xstate_len, frame.sw + 16, sizeof(frame.xstate_len));
	frame.csgsfs = UC_REG(uc, CSGSFS);
	frame.known = magic == FP_XSTATE_MAGIC1 && frame.xstate_len > LEGACY &&
		      whole == frame.xstate_len + FP_XSTATE_MAGIC2_SIZE && whole <= XSAVE_ROOM;
}

void (*hot_sites_entry(void))(void)
{
	return !replaying() ? hot_gate : (void (*)(void))(RDB_GATE_CODE + GATE_CODE_SYSCALL);
}

/* A child that continues natively has `ended` set, too. */
bool hot_context_will_do(const struct thread *self)
{
	return !replaying() && lower.started && !lower.ended && !counter_traps() && !self->pending && !self->yield &&
	       frame.known;
}

/* Completes the context as in a kernel's signal frame: images of waiting threads are made from it. */
static void complete(ucontext_t *uc)
{
	static const uint32_t magic2 = FP_XSTATE_MAGIC2;
	char *fp = (char *)uc->uc_mcontext.fpregs;
	memcpy(fp + SW_BYTES, frame.sw, SW_LEN);
	memcpy(fp + frame.xstate_len, &magic2, sizeof(magic2));
	UC_REG(uc, CSGSFS) = frame.csgsfs;
	UC_REG(uc, ERR) = UC_REG(uc, TRAPNO) = UC_REG(uc, OLDMASK) = UC_REG(uc, CR2) = 0;
}

struct hot_outer hot_enter(struct thread *self, ucontext_t *uc)
{
	const struct hot_outer outer = {self->frame, self->uc};
	complete(uc);
	self->frame = NULL;
	self->uc = uc;
	self->hot = true;
	return outer;
}

void hot_leave_unasked(struct thread *self, struct hot_outer outer)
{
	self->hot = false;
	self->frame = outer.frame;
	self->uc = outer.uc;
}

uint64_t hot_leave(struct thread *self, ucontext_t *uc, struct hot_outer outer)
{
	hot_leave_unasked(self, outer);
	source->deliver(NULL);
	if (!self->trap_in_flight)
		source_polled(self, uc);
	return self->upper.tls;
}

uint64_t hot_syscall(ucontext_t *uc, uint64_t tls)
{
	struct thread *self = thread_self();
	self->upper.tls = tls;
	if (!hot_context_will_do(self) || !filters_answer(self, uc)) {
		UC_REG(uc, RIP) -= 2;
		UC_REG(uc, RCX) = UC_REG(uc, RIP);
		UC_REG(uc, R11) = RDB_GATE;
		return tls;
	}
	struct hot_outer outer = hot_enter(self, uc);
	self->asks_at = UC_REG(uc, RIP) - 2;
	source_polls(self->asks_at);
	source->syscall(uc);
	return hot_leave(self, uc, outer);
}
