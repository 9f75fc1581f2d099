#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "answer/other_names.h"
#include "answer/shared_calls.h"
#include "task/envoy.h"
#include "space/aliases.h"
#include "space/arena.h"
#include "base/descriptors.h"
#include "base/guarded_copy.h"
#include "log/log_reader.h"
#include "answer/memory_calls.h"
#include "answer/memory_limits.h"
#include "space/mapping.h"
#include "space/shared_kinds.h"
#include "space/shared_memory.h"
#include "space/shared_sync.h"
#include "space/shared_turns.h"

#define A(i) (ev->args[i])

static struct {
	uint64_t event, addr; /* the latest store of others */
} foreign;

static const struct log_chunk *next_note(const struct log_chunk *c, enum rdb_note what)
{
	while ((c = log_chunk_next(lower.mode->record(), c)))
		if (!c->addr && c->note == what)
			return c;
	return NULL;
}

static void fill_recorded(void)
{
	uint64_t at = 0;
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(lower.mode->record(), c));) {
		if (c->addr)
			continue;
		if (c->note == RDB_NOTE_AT)
			at = *(const uint64_t *)(c + 1);
		if (c->note != RDB_NOTE_BYTES)
			continue;
		memcpy((void *)at, c + 1, c->len);
		at += c->len;
	}
}

/* fresh: the mapping there was made just now. */
static void aliases_recorded(uint64_t fresh)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(lower.mode->record(), c));) {
		const struct rdb_note_follows *note = (const void *)(c + 1);
		const struct rdb_note_shared_of *of = &note->of;
		if (c->addr || (c->note != RDB_NOTE_SHARED_OF && c->note != RDB_NOTE_FOLLOWS))
			continue;
		const struct alias a = {.start = of->start,
					.end = of->end,
					.dev = alias_dev(of->dev, (int)of->kind),
					.ino = of->ino,
					.offset = of->offset,
					.follows = c->note == RDB_NOTE_FOLLOWS,
					.fresh = of->start == fresh,
					.empty = of->start == fresh && !next_note(NULL, RDB_NOTE_AT),
					.own = (const uint64_t *)(note + 1),
					.nown = c->note == RDB_NOTE_FOLLOWS ? (c->len - sizeof(*note)) / 16 : 0};
		aliases_add(&a);
	}
}

void shared_aliases_recorded(void)
{
	aliases_recorded(0);
}

static bool follows_recorded(uint64_t at)
{
	for (const struct log_chunk *c = NULL; (c = next_note(c, RDB_NOTE_FOLLOWS));)
		if (((const struct rdb_note_follows *)(c + 1))->of.start == at)
			return true;
	return false;
}

bool shared_map_recorded(uint64_t at, size_t len, int prot, long *rc)
{
	if (!next_note(NULL, RDB_NOTE_SHARED) && !follows_recorded(at))
		return false;
	*rc = memory_map_zero(at, len, PROT_READ | PROT_WRITE);
	if (*rc)
		return true;
	arena_unmapped(at, at + len);
	fill_recorded();
	aliases_recorded(at);
	if (prot != (PROT_READ | PROT_WRITE))
		*rc = raw_syscall(SYS_mprotect, (long)at, (long)len, prot, 0, 0, 0);
	return true;
}

bool shared_left_recorded(uint64_t at, size_t len)
{
	if (!follows_recorded(at))
		return false;
	shared_unmapped(at, at + len);
	arena_unmapped(at, at + len);
	if (memory_map_zero(at, len, PROT_READ | PROT_WRITE))
		rdb_fatal("memory at %#lx cannot be mapped", (unsigned long)at);
	return true;
}

bool shared_noted(uint64_t *start, uint64_t *end)
{
	const uint64_t *lowest = NULL;
	for (const struct log_chunk *c = NULL; (c = next_note(c, RDB_NOTE_SHARED));) {
		const uint64_t *part = (const uint64_t *)(c + 1);
		if (*start < *end && part[0] < *end && part[1] > *start && (!lowest || part[0] < lowest[0]))
			lowest = part;
	}
	if (!lowest)
		return false;
	*start = lowest[0] > *start ? lowest[0] : *start;
	*end = lowest[1] < *end ? lowest[1] : *end;
	return true;
}

/* /proc/self/mem (proc(5)) ignores protection: the program may be allowed to read only, or nothing. */
static int own_memory(void)
{
	static int fd = -1;
	static long of; /* a forked replica has memory of its own */
	const long self = raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	if (fd >= 0 && of != self)
		lower_fd_close(fd);
	if (fd < 0 || of != self)
		fd = descriptor_open(AT_FDCWD, "/proc/thread-self/mem", O_RDWR | O_CLOEXEC, 0);
	of = self;
	return fd;
}

/* Memory with aliases is written through the memfd: a private mapping must not get its own copy of the page. */
void shared_apply(uint64_t addr, const void *data, size_t len)
{
	static char was[RDB_PAGE];
	const int mem = own_memory();
	for (size_t done = 0; done < len;) {
		size_t room = RDB_PAGE - (addr + done) % RDB_PAGE, n = len - done < room ? len - done : room;
		uint64_t offset = addr + done;
		const char *from = (const char *)data + done;
		int fd = aliases_file(addr + done, &offset);
		if (fd < 0)
			fd = mem;
		if (fd < 0 || pread(fd, was, n, (off_t)offset) != (ssize_t)n ||
		    pwrite(fd, from, n, (off_t)offset) != (ssize_t)n)
			rdb_fatal("shared memory at %#lx cannot be written", (unsigned long)(addr + done));
		if (fd != mem)
			aliases_drop_own(addr + done);
		if (memcmp(was, from, n)) {
			other_names->applied(addr + done, was, from, n);
			foreign.event = lower.event;
			foreign.addr = addr + done;
		}
		done += n;
	}
}

void shared_force(uint64_t addr, const void *data, size_t len)
{
	const int fd = own_memory();
	if (fd < 0 || pwrite(fd, data, len, (off_t)addr) != (ssize_t)len)
		rdb_fatal("memory at %#lx cannot be written", (unsigned long)addr);
}

struct comparison {
	const struct log_chunk *chunk;
	bool differs;
};

static void compare(void *arg)
{
	struct comparison *c = arg;
	c->differs = memcmp((const void *)c->chunk->addr, c->chunk + 1, c->chunk->len);
}

/* Would the event that was not reached have stored something else than what is there?  The program may not be allowed to
 * read there. */
static bool look_at(const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		struct comparison with = {.chunk = c};
		if (c->addr && c->note == RDB_NOTE_SHARED && guarded_call(compare, &with) && with.differs) {
			foreign.event = rec->event;
			foreign.addr = c->addr;
			return true;
		}
	}
	return false;
}

const char *shared_suspicion(const struct log_record *next, uint64_t agreed)
{
	static char text[288];
	const bool here = next && LOG_IS_EVENT(next->kind) && look_at(next);
	/* the replay has made the stores of event `agreed` itself, too: if memory agreed then, no early look has
	 * mattered */
	if (!here && (!foreign.event || foreign.event <= agreed))
		return "";
	snprintf(text, sizeof(text),
		 "; the cause is not known: between events %lu and %lu other processes wrote to shared memory at %#lx; "
		 "the program may have read it in between, and memory was not compared since",
		 (unsigned long)foreign.event - 1, (unsigned long)foreign.event, (unsigned long)foreign.addr);
	return text;
}

/* ---- System V ---- */

static bool from_log(void)
{
	return lower.started && replaying();
}

static long attach(struct event *ev)
{
	struct shmid_ds ds;
	const long id = (long)other_names->segment(A(0));
	long rc = raw_syscall(SYS_shmctl, id, IPC_STAT, (long)&ds, 0, 0, 0);
	if (rc < 0)
		return rc;
	size_t len = (ds.shm_segsz + RDB_PAGE - 1) & ~(RDB_PAGE - 1);
	uint64_t at = A(1), before = lower.upper.mmap_next;
	if (at && A(2) & SHM_RND)
		at &= ~(RDB_PAGE - 1);
	if (at && (at & (RDB_PAGE - 1) || !rdb_is_upper_range(at, len)))
		return -EINVAL;
	if (at >= RDB_ARENA_END && A(2) & SHM_EXEC)
		return -EACCES; /* see place() in memory_calls.c */
	if (!at)
		at = arena_take(len, false);
	if (!at)
		return -ENOMEM;
	if (memory_limits_more(len, false, at, A(2) & SHM_REMAP ? len : 0)) {
		lower.upper.mmap_next = before;
		return -ENOMEM;
	}
	const uint64_t others = shared_key_of_segment((int)id, len);
	if (others)
		envoy_begin(others);
	rc = raw_syscall(SYS_shmat, id, (long)at, (long)A(2), 0, 0, 0);
	if (rc < 0) {
		lower.upper.mmap_next = before;
		return rc;
	}
	arena_chosen(at, at + len);
	shared_unmapped(at, at + len);
	arena_unmapped(at, at + len);
	memory_remapped(at, len);
	shared_adopt(ev, at, len, SHARED_SYSV);
	return (long)at;
}

long shared_shmat(struct event *ev, ucontext_t *uc)
{
	int prot = PROT_READ | (A(2) & SHM_RDONLY ? 0 : PROT_WRITE) | (A(2) & SHM_EXEC ? PROT_EXEC : 0);
	shared_sync_before(ev);
	if (!from_log())
		return attach(ev);
	const struct log_chunk *c = next_note(NULL, RDB_NOTE_SHARED);
	if (!c || (ev->result < 0 && ev->result > -4096))
		return ev->result;
	const uint64_t *part = (const uint64_t *)(c + 1);
	size_t len = part[1] - part[0];
	uint64_t at = A(1) ? part[0] : arena_take(len, false);
	long rc;
	bool mapped = shared_map_recorded(at, len, prot, &rc);
	arena_chosen(at, at + len);
	memory_remapped(at, len);
	return mapped && rc ? rc : (long)at;
}

long shared_shmdt(struct event *ev, ucontext_t *uc)
{
	const uint64_t start = A(0);
	uint64_t end;
	shared_sync_before(ev);
	if (from_log()) {
		for (const struct log_chunk *c = NULL; !ev->result && (c = next_note(c, RDB_NOTE_SHARED));) {
			const uint64_t *part = (const uint64_t *)(c + 1);
			memory_unmap(part[0], part[1] - part[0]);
		}
		return ev->result;
	}
	for (uint64_t at = start; recording() && (at = shared_attached(start, at, &end)); at = end)
		shared_note_parts(ev, at, at + 1);
	const long rc = raw_syscall(SYS_shmdt, (long)start, 0, 0, 0, 0, 0);
	for (uint64_t at; !rc && recording() && (at = shared_attached(start, start, &end));) {
		shared_unmapped(at, end);
		memory_remapped(at, end - at);
	}
	return rc;
}
