#include "crossing/filters.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/machine.h"
#include "arch/registers.h"
#include "base/user.h"

/* kernel/seccomp.c: MAX_INSNS_PER_PATH, and what each further filter costs */
enum { INSTRUCTIONS_MOST = 32768, COST_OF_ONE = 4 };

struct filter {
	uint64_t before; /* 0: none */
	uint32_t len;
	uint32_t cost; /* of this and all before it */
	struct sock_filter code[];
};

/* At RDB_FILTERS, read-only for the program; made with the first filter. */
struct store {
	uint64_t used; /* bytes */
};

static struct sock_filter candidate[BPF_MAXINSNS];

static const struct filter *at(uint64_t address)
{
	return (const struct filter *)address;
}

/* ---- what a filter says ---- */

/* net/core/filter.c: A and X are 0 in the beginning, a division by X = 0 ends the filter with 0. */
static uint32_t run(const struct filter *f, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, m[BPF_MEMWORDS] = {0};
	for (const struct sock_filter *i = f->code;; i++) {
		const uint32_t operand = BPF_SRC(i->code) == BPF_X ? x : i->k;
		bool jumps;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
		case BPF_LDX: {
			uint32_t v = i->k; /* BPF_IMM */
			if (BPF_MODE(i->code) == BPF_ABS)
				memcpy(&v, (const char *)data + i->k, sizeof(v));
			else if (BPF_MODE(i->code) == BPF_MEM)
				v = m[i->k];
			else if (BPF_MODE(i->code) == BPF_LEN)
				v = sizeof(*data);
			*(BPF_CLASS(i->code) == BPF_LD ? &a : &x) = v;
			break;
		}
		case BPF_ST: m[i->k] = a; break;
		case BPF_STX: m[i->k] = x; break;
		case BPF_ALU:
			switch (BPF_OP(i->code)) {
			case BPF_ADD: a += operand; break;
			case BPF_SUB: a -= operand; break;
			case BPF_MUL: a *= operand; break;
			case BPF_DIV:
				if (!operand)
					return 0;
				a /= operand;
				break;
			case BPF_OR: a |= operand; break;
			case BPF_AND: a &= operand; break;
			case BPF_XOR: a ^= operand; break;
			case BPF_LSH: a <<= operand & 31; break;
			case BPF_RSH: a >>= operand & 31; break;
			case BPF_NEG: a = -a; break;
			}
			break;
		case BPF_JMP:
			switch (BPF_OP(i->code)) {
			case BPF_JA: i += i->k; continue;
			case BPF_JEQ: jumps = a == operand; break;
			case BPF_JGT: jumps = a > operand; break;
			case BPF_JGE: jumps = a >= operand; break;
			default: jumps = a & operand; break; /* BPF_JSET */
			}
			i += jumps ? i->jt : i->jf;
			break;
		case BPF_RET: return BPF_RVAL(i->code) == BPF_A ? a : i->k;
		case BPF_MISC:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
}

static bool strict_allows(uint32_t nr)
{
	return nr == SYS_read || nr == SYS_write || nr == SYS_exit || nr == SYS_rt_sigreturn;
}

uint32_t filters_say(const struct thread *self, const ucontext_t *uc)
{
	uint32_t says = SECCOMP_RET_ALLOW;
	struct seccomp_data data = {
		.nr = (int)UC_CALL(uc), .arch = MACHINE_AUDIT_ARCH, .instruction_pointer = UC_PC(uc)};
	if (self->upper.filter == FILTERS_STRICT)
		return strict_allows((uint32_t)UC_CALL(uc)) ? says : SECCOMP_RET_KILL_THREAD | SIGKILL;
	uc_arguments(uc, (uint64_t *)data.args);
	/* the most severe one prevails, among equals the newest */
	for (uint64_t f = self->upper.filter; f; f = at(f)->before) {
		const uint32_t one = run(at(f), &data);
		if ((int32_t)(one & SECCOMP_RET_ACTION_FULL) < (int32_t)(says & SECCOMP_RET_ACTION_FULL))
			says = one;
	}
	switch (says & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_TRAP:
	case SECCOMP_RET_ERRNO:
	case SECCOMP_RET_USER_NOTIF:
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ALLOW: return says;
	case SECCOMP_RET_KILL_THREAD: return SECCOMP_RET_KILL_THREAD | SIGSYS;
	default: return SECCOMP_RET_KILL_PROCESS | SIGSYS;
	}
}

bool filters_answer(const struct thread *self, const ucontext_t *uc)
{
	const uint32_t action = self->upper.filter ? filters_say(self, uc) & SECCOMP_RET_ACTION_FULL
						   : SECCOMP_RET_ALLOW;
	return (int32_t)action >= (int32_t)SECCOMP_RET_ERRNO;
}

/* ---- which filters are accepted ---- */

/* seccomp_check_filter() in kernel/seccomp.c: the instructions that a filter may have, and their operands. */
static bool known(const struct sock_filter *i)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS: return i->k < sizeof(struct seccomp_data) && i->k % 4 == 0;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX: return i->k < BPF_MEMWORDS;
	case BPF_ALU | BPF_DIV | BPF_K: return i->k;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K: return i->k < 32;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_ALU | BPF_NEG:
	case BPF_ALU | BPF_DIV | BPF_X:
	case BPF_ALU | BPF_LSH | BPF_X:
	case BPF_ALU | BPF_RSH | BPF_X:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_JMP | BPF_JA: return true;
	}
	if (BPF_CLASS(i->code) != BPF_ALU && BPF_CLASS(i->code) != BPF_JMP)
		return false;
	switch (i->code & ~BPF_X) {
	case BPF_ALU | BPF_ADD:
	case BPF_ALU | BPF_SUB:
	case BPF_ALU | BPF_MUL:
	case BPF_ALU | BPF_AND:
	case BPF_ALU | BPF_OR:
	case BPF_ALU | BPF_XOR:
	case BPF_JMP | BPF_JEQ:
	case BPF_JMP | BPF_JGE:
	case BPF_JMP | BPF_JGT:
	case BPF_JMP | BPF_JSET: return true;
	}
	return false;
}

/* check_load_and_stores() in net/core/filter.c: no word is loaded that has not been stored on every way to there. */
static bool stored_before_load(const struct sock_filter *code, unsigned len)
{
	static uint16_t reaches[BPF_MAXINSNS]; /* words that are valid on every jump to an instruction */
	uint16_t valid = 0;
	memset(reaches, 0xff, len * sizeof(*reaches));
	for (unsigned i = 0; i < len; i++) {
		valid &= reaches[i];
		switch (BPF_CLASS(code[i].code)) {
		case BPF_ST:
		case BPF_STX: valid |= (uint16_t)(1 << code[i].k); break;
		case BPF_LD:
		case BPF_LDX:
			if (BPF_MODE(code[i].code) == BPF_MEM && !(valid & 1 << code[i].k))
				return false;
			break;
		case BPF_JMP:
			if (BPF_OP(code[i].code) == BPF_JA) {
				reaches[i + 1 + code[i].k] &= valid;
			} else {
				reaches[i + 1 + code[i].jt] &= valid;
				reaches[i + 1 + code[i].jf] &= valid;
			}
			valid = 0xffff;
			break;
		}
	}
	return true;
}

static bool valid(const struct sock_filter *code, unsigned len)
{
	for (unsigned i = 0; i < len; i++) {
		const unsigned left = len - i - 1;
		if (!known(&code[i]))
			return false;
		if (code[i].code == (BPF_JMP | BPF_JA)) {
			if (code[i].k >= left)
				return false;
		} else if (BPF_CLASS(code[i].code) == BPF_JMP && (code[i].jt >= left || code[i].jf >= left)) {
			return false;
		}
	}
	return BPF_CLASS(code[len - 1].code) == BPF_RET && stored_before_load(code, len);
}

/* ---- where they are ---- */

static struct store *store(void)
{
	return (struct store *)RDB_FILTERS;
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
}

/* Makes room for `more` bytes, and the store writable. 0 or -errno. */
static int open_store(size_t more)
{
	unsigned char in_core;
	const bool there = !raw_syscall(SYS_mincore, RDB_FILTERS, RDB_PAGE, (long)&in_core, 0, 0, 0);
	const uint64_t used = there ? store()->used : 0;
	const uint64_t had = pages(used), size = pages((used ? used : sizeof(struct store)) + more);
	if (size > RDB_FILTERS_END - RDB_FILTERS)
		return -ENOMEM;
	if (size > had && mmap((void *)(RDB_FILTERS + had), size - had, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -errno;
	if (had && mprotect(store(), had, PROT_READ | PROT_WRITE))
		return -errno;
	store()->used = used ? used : sizeof(struct store);
	return 0;
}

static int close_store(void)
{
	const uint64_t size = pages(store()->used);
	if (mprotect(store(), size, PROT_READ))
		return -errno;
	if (lower.started && lower.mode->reprotected)
		lower.mode->reprotected(RDB_FILTERS, RDB_FILTERS + size);
	return 0;
}

static uint32_t cost(uint64_t before, unsigned len)
{
	return len + (before ? at(before)->cost + COST_OF_ONE : 0);
}

long filters_check(uint64_t before, uint64_t code, unsigned len)
{
	if (user_read(candidate, code, len * sizeof(*candidate)))
		return -EFAULT;
	if (!valid(candidate, len))
		return -EINVAL;
	return cost(before, len) > INSTRUCTIONS_MOST ? -ENOMEM : 0;
}

uint64_t filters_add(uint64_t before, uint64_t code, unsigned len)
{
	int rc = (int)filters_check(before, code, len);
	if (!rc)
		rc = open_store(sizeof(struct filter) + sizeof(*candidate) * len);
	if (!rc) {
		struct filter *f = (void *)(RDB_FILTERS + store()->used);
		*f = (struct filter){.before = before, .len = len, .cost = cost(before, len)};
		memcpy(f->code, candidate, sizeof(*candidate) * len);
		store()->used += sizeof(*f) + sizeof(*candidate) * len;
		rc = close_store();
		if (!rc)
			return (uint64_t)f;
	}
	rdb_fatal("the program's filter for system calls (seccomp) cannot be kept: %s", strerror(-rc));
}

bool filters_follow(uint64_t newest, uint64_t old)
{
	while (newest && newest != old)
		newest = at(newest)->before;
	return newest == old;
}

unsigned filters_count(uint64_t newest)
{
	unsigned n = 0;
	for (; newest > FILTERS_STRICT; newest = at(newest)->before)
		n++;
	return n;
}

int filters_to_kernel(uint64_t newest)
{
	if (newest == FILTERS_STRICT)
		return (int)raw_syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0, 0, 0, 0);
	for (unsigned left = filters_count(newest); left; left--) {
		const struct filter *f = at(newest);
		for (unsigned i = 1; i < left; i++)
			f = at(f->before);
		const struct sock_fprog program = {.len = (uint16_t)f->len, .filter = (struct sock_filter *)f->code};
		const int rc = (int)raw_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0, 0);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- over an execve ---- */

static int transfer(int fd, bool out, uint64_t from, uint64_t to)
{
	while (from < to) {
		const ssize_t n = out ? write(fd, (const void *)from, to - from) : read(fd, (void *)from, to - from);
		if (n <= 0)
			return n ? -errno : -EIO;
		from += (uint64_t)n;
	}
	return 0;
}

int filters_hand_on(void)
{
	int fd = memfd_create("filters", 0);
	fd = fd < 0 ? -errno : lower_fd(fd); /* sets FD_CLOEXEC */
	int rc = fd < 0 ? fd : transfer(fd, true, RDB_FILTERS, RDB_FILTERS + store()->used);
	if (!rc && fcntl(fd, F_SETFD, 0))
		rc = -errno;
	return rc ? rc : fd;
}

int filters_take_over(int fd)
{
	const off_t bytes = lseek(fd, 0, SEEK_END);
	if (bytes < (off_t)sizeof(struct store) || lseek(fd, 0, SEEK_SET))
		return -EIO;
	int rc = open_store((size_t)bytes - sizeof(struct store));
	if (!rc)
		rc = transfer(fd, false, RDB_FILTERS, RDB_FILTERS + (uint64_t)bytes);
	return rc ? rc : close_store();
}
