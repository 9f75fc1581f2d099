#include "restart/files/file_locks.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/apart.h"
#include "restart/base/branch_file.h"
#include "restart/base/cut.h"
#include "restart/base/open_table.h"
#include "restart/base/streams.h"
#include "restart/copies/written_copies.h"

enum { LOCKS = 1024, LOCK_STREAMS = 1 << 30 /* apart from the streams of what was written */ };

enum lock_kind { OF_PROCESS, OF_DESCRIPTION, WHOLE /* flock(2) */ };

struct lock {
	uint32_t kind, via; /* via: index in open_table.opened of the file by which it was taken */
	int32_t type;       /* as in fcntl(2) or flock(2) */
	uint32_t unknown;   /* its range is not known */
	uint64_t start, end;
};

static struct {
	uint32_t n;
	struct lock list[LOCKS];
} all;

static bool same_file(const struct opened *a, const struct opened *b)
{
	return a == b || (*a->path && !strcmp(a->path, b->path));
}

static struct opened *via(const struct lock *l)
{
	return &open_table.opened[l->via];
}

static bool same(const struct lock *l, enum lock_kind kind, const struct opened *f)
{
	return l->kind == kind && (kind == OF_PROCESS ? same_file(via(l), f) : via(l) == f);
}

static void add(struct lock l)
{
	if (all.n == LOCKS)
		live_refuse("it has more than %d locks on files", LOCKS);
	all.list[all.n++] = l;
}

static void drop(uint32_t i)
{
	all.list[i] = all.list[--all.n];
}

/* Gives up what the program had of that range, whatever lock it gets. */
static void give_up(enum lock_kind kind, const struct opened *f, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < all.n;) {
		const struct lock l = all.list[i];
		if (!same(&l, kind, f) || l.end <= start || l.start >= end) {
			i++;
			continue;
		}
		drop(i);
		struct lock rest = l;
		rest.end = start;
		if (l.start < start)
			add(rest);
		rest = l;
		rest.start = end;
		if (l.end > end)
			add(rest);
		i = 0;
	}
}

static void locked(const struct event *ev, enum lock_kind kind)
{
	const struct flock *asked = (const struct flock *)ev->args[2];
	const struct opened *f = open_at(ev->args[0]);
	if (!f)
		return;
	struct lock l = {.kind = kind, .via = (uint32_t)(f - open_table.opened), .type = asked->l_type};
	uint64_t from = 0;
	if (asked->l_whence != SEEK_SET) {
		l.unknown = f->shared || (asked->l_whence == SEEK_END && f->kind != FILE_WRITTEN);
		from = asked->l_whence == SEEK_CUR ? f->offset : f->kind == FILE_WRITTEN ? copy_end(f) : 0;
	}
	l.unknown |= kind == OF_DESCRIPTION && f->shared; /* another process may give it up */
	l.start = from + (uint64_t)asked->l_start;
	l.end = asked->l_len ? l.start + (uint64_t)asked->l_len : UINT64_MAX;
	if (asked->l_len < 0) {
		l.end = l.start;
		l.start += (uint64_t)asked->l_len;
	}
	give_up(kind, f, l.start, l.end);
	if (asked->l_type != F_UNLCK)
		add(l);
}

static void set_whole(const struct opened *f, int how)
{
	give_up(WHOLE, f, 0, UINT64_MAX);
	if (how != LOCK_UN)
		add((struct lock){
			.kind = WHOLE, .via = (uint32_t)(f - open_table.opened), .type = how, .end = UINT64_MAX});
}

void file_locks_syscall(const struct event *ev)
{
	const struct opened *f;
	switch (ev->nr) {
	case SYS_flock:
		if (!(f = open_at(ev->args[0])))
			break;
		const int32_t how = (int32_t)ev->args[1] & ~LOCK_NB;
		set_whole(f, how);
		if (f->shared)
			stream_add(f->shared | LOCK_STREAMS, OP_WRITE, &how, sizeof(how));
		break;
	case SYS_fcntl:
		if (ev->args[1] == F_SETLK || ev->args[1] == F_SETLKW)
			locked(ev, OF_PROCESS);
		else if (ev->args[1] == F_OFD_SETLK || ev->args[1] == F_OFD_SETLKW)
			locked(ev, OF_DESCRIPTION);
		break;
	}
}

void file_locks_closed(const struct opened *f, bool last)
{
	for (uint32_t i = 0; i < all.n;)
		if (all.list[i].kind == OF_PROCESS ? same_file(via(&all.list[i]), f) : last && via(&all.list[i]) == f)
			drop(i);
		else
			i++;
}

void file_locks_in_child(void)
{
	for (uint32_t i = 0; i < all.n;)
		if (all.list[i].kind == OF_PROCESS)
			drop(i);
		else
			i++;
}

bool file_locks_hand_on(int fd)
{
	return write(fd, &all, sizeof(all)) == (ssize_t)sizeof(all);
}

bool file_locks_inherit(int fd)
{
	return read(fd, &all, sizeof(all)) == (ssize_t)sizeof(all) && all.n <= LOCKS;
}

void file_locks_load(void)
{
	all.n = (uint32_t)(branch_file_load("locks", all.list, sizeof(all.list), sizeof(*all.list)) /
			   sizeof(*all.list));
	for (uint32_t i = 0; i < all.n; i++)
		if (all.list[i].via >= OPENED)
			live_refuse("its list of locks is damaged");
}

bool file_locks_read(const char *line, struct saved_lock *out)
{
	char what[16], access[16], end[32];
	unsigned long start;
	if (sscanf(line, "lock: %*d: %15s %*s %15s %*d %*s %lu %31s", what, access, &start, end) != 4)
		return false;
	const bool writes = !strcmp(access, "WRITE"), whole = !strcmp(what, "FLOCK");
	if (!whole && strcmp(what, "POSIX") && strcmp(what, "OFDLCK"))
		return false;
	out->kind = (uint16_t)(whole ? WHOLE : *what == 'P' ? OF_PROCESS : OF_DESCRIPTION);
	out->type = (uint16_t)(whole ? (writes ? LOCK_EX : LOCK_SH) : writes ? F_WRLCK : F_RDLCK);
	out->start = start;
	out->end = *end == 'E' ? UINT64_MAX : strtoul(end, NULL, 10) + 1; /* "EOF", or the last byte */
	return true;
}

void file_locks_from(const struct saved_lock *list, unsigned n)
{
	for (const struct saved_lock *one = list; one < list + n; one++) {
		if (one->opened >= OPENED)
			live_refuse("its list of locks is damaged");
		add((struct lock){.kind = one->kind,
				  .via = one->opened,
				  .type = one->type,
				  .start = one->start,
				  .end = one->end});
	}
}

/* For files that several processes have: the last who asked, whichever process it was. */
static void shared_locks(void)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		struct all_ops done;
		int32_t how;
		if (f->kind == NONE || !f->shared)
			continue;
		stream_gather(&done, f->shared | LOCK_STREAMS);
		if (done.n) {
			memcpy(&how, done.ops[done.n - 1] + 1, sizeof(how));
			set_whole(f, how);
		}
		stream_free(&done);
	}
}

static int number_of(const struct opened *f)
{
	for (int fd = 0; fd < NUMBERS; fd++)
		if (open_table.number[fd].file == f)
			return fd;
	return -1;
}

void file_locks_restore(void)
{
	shared_locks();
	for (uint32_t i = 0; i < all.n; i++) {
		const struct lock *l = &all.list[i];
		const struct opened *f = via(l);
		const char *name = *f->path ? f->path : "a file";
		struct flock range = {.l_type = (short)l->type, .l_whence = SEEK_SET, .l_start = (off_t)l->start};
		range.l_len = l->end == UINT64_MAX ? 0 : (off_t)(l->end - l->start);
		const int fd = number_of(f);
		if (fd < 0 || f->kind == STANDARD)
			continue;
		if (l->kind == OF_PROCESS)
			apart_needed();
		if (l->unknown)
			live_refuse("%s: it has a lock on this file, whose range is not known", name);
		const int rc = l->kind == WHOLE ? flock(fd, l->type | LOCK_NB)
						: fcntl(fd, l->kind == OF_PROCESS ? F_SETLK : F_OFD_SETLK, &range);
		if (rc)
			live_refuse("%s: it had a lock on this file, which it cannot get now: %s", name,
				    strerror(errno));
	}
	if (all.n)
		branch_file_save("locks", all.list, all.n * sizeof(*all.list));
}
