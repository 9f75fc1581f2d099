#include "restart/tree/tree_moves.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/base/open_table.h"
#include "restart/process/timerfds.h"
#include "restart/tree/tree_born.h"
#include "restart/copies/written_copies.h"
#include "base/descriptors.h"
#include "replay/replay.h"

struct moves {
	const struct all_ops *all;
	bool *done;
	struct opened *f;
	int as_recorded; /* the file as the job left it: tells which of two writes came first; -1: gone */
	uint64_t offset;
};

static uint64_t number_of(const struct op *op)
{
	uint64_t n;
	memcpy(&n, op + 1, sizeof(n));
	return n;
}

/* Does the operation leave alone where others are, and what they write? */
static bool harmless(const struct moves *m, const struct op *op)
{
	return op->kind == OP_SEEK && number_of(op) == m->offset;
}

static bool as_was_written(const struct moves *m, const struct op *op)
{
	char buf[4096];
	const bool appends = op->kind == OP_APPEND;
	const uint64_t at = appends ? copy_end(m->f) : m->offset;
	if (m->as_recorded < 0 || (!appends && op->kind != OP_WRITE))
		return false;
	for (uint32_t done = 0; done < op->len;) {
		const size_t want = op->len - done < sizeof(buf) ? op->len - done : sizeof(buf);
		const ssize_t n = pread(m->as_recorded, buf, want, (off_t)(at + done));
		if (n <= 0 || memcmp(buf, (const char *)(op + 1) + done, (size_t)n))
			return false;
		done += (uint32_t)n;
	}
	return true;
}

/* The calls that were under way when call FIRST, the next by its answer, was: one of each process. */
static size_t beside(const struct moves *m, size_t first, size_t *found, size_t room)
{
	const struct op *const *ops = m->all->ops;
	size_t n = 0;
	found[n++] = first;
	for (size_t i = first + 1; i < m->all->n && n < room; i++) {
		bool known = m->done[i] || ops[i]->begun_ns >= ops[first]->at_ns;
		for (size_t k = 0; k < n; k++)
			known |= ops[i]->process == ops[found[k]]->process;
		if (!known)
			found[n++] = i;
	}
	return n;
}

/* Which call comes next: by its time or, where calls overlapped, by what is in the file. */
static size_t next(const struct moves *m, size_t first)
{
	size_t found[64], reads = 0;
	const size_t n = beside(m, first, found, 64);
	for (size_t i = 0; i < n; i++) {
		reads += m->all->ops[found[i]]->kind == OP_READ;
		if (harmless(m, m->all->ops[found[i]]))
			return found[i];
	}
	if (n == 1 || reads == n)
		return first;
	for (size_t i = 0; i < n; i++)
		if (as_was_written(m, m->all->ops[found[i]]))
			return found[i];
	live_refuse(
		"%s: several of its processes have moved its file offset at once, through one descriptor, and which "
		"came first is not known: choose another event",
		m->f->path);
}

static void again(struct moves *m, const struct op *op)
{
	const char *bytes = (const char *)(op + 1);
	switch (op->kind) {
	case OP_READ: m->offset += number_of(op); break;
	case OP_SEEK: m->offset = number_of(op); break;
	case OP_APPEND: m->offset = copy_end(m->f); /* fallthrough */
	case OP_WRITE:
		copy_write(m->f, m->offset, bytes, op->len);
		m->offset += op->len;
		break;
	case OP_AT: copy_write(m->f, number_of(op), bytes + sizeof(uint64_t), op->len - sizeof(uint64_t)); break;
	case OP_CUT:
		if (ftruncate(m->f->copy, (off_t)number_of(op)))
			live_refuse("%s: its copy cannot be truncated: %s", m->f->path, strerror(errno));
		break;
	}
}

void tree_file_fill(const struct all_ops *all, struct opened *f)
{
	struct moves m = {.all = all, .f = f, .as_recorded = -1, .done = calloc(all->n + 1, 1)};
	m.offset = (uint64_t)lseek(f->made, 0, SEEK_CUR);
	if (!m.done)
		live_refuse("out of memory for the operations of its processes on shared pipes, sockets and files");
	if (f->kind == FILE_WRITTEN && *f->path)
		m.as_recorded = descriptor_open(AT_FDCWD, f->path, O_RDONLY, 0);
	for (size_t i = 0; i < all->n;) {
		if (m.done[i]) {
			i++;
			continue;
		}
		const size_t one = next(&m, i);
		again(&m, all->ops[one]);
		m.done[one] = true;
	}
	if (all->n && lseek(f->made, (off_t)m.offset, SEEK_SET) < 0)
		live_refuse("%s: %s", f->path, strerror(errno));
	if (m.as_recorded >= 0)
		close(m.as_recorded);
	free(m.done);
}

void tree_timer_fill(const struct all_ops *all, struct opened *f)
{
	struct timer_state t = {0};
	for (size_t i = 0; i < all->n; i++)
		if (all->ops[i]->kind == OP_READ)
			t.expired += number_of(all->ops[i]);
		else
			memcpy(&t, all->ops[i] + 1, sizeof(t));
	t.since_ns = t.since_ns ? t.since_ns : replay_begun_ns(); /* the branch began with it */
	if (timerfd_again(f->made, f->clock, &t, live_cut_ns))
		live_refuse("a timer of its processes cannot be set: %s", strerror(errno));
	timerfd_state_save(&t, live_cut_ns);
	tree_born_filled(f->shared, &t, sizeof(t));
}
