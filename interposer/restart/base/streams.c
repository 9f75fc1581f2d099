#include "restart/base/streams.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "base/descriptors.h"
#include "base/io.h"
#include "base/pids.h"
#include "restart/base/branch_file.h"
#include "replay/replay.h"

enum { STREAMS = 4096 };

static struct {
	struct stream {
		uint32_t number;
		uint8_t *bytes;
		size_t len;
	} streams[STREAMS];
	unsigned n;
} own;

static size_t size_of(const struct op *op)
{
	return sizeof(*op) + ((op->len + 7ul) & ~7ul);
}

/* ---- on the way ---- */

unsigned stream_new(void)
{
	return __atomic_add_fetch(&pids()->shared, 1, __ATOMIC_SEQ_CST);
}

static void add(unsigned number, struct op op, const void *head, size_t head_len, const void *bytes, uint64_t len)
{
	unsigned i = 0;
	while (i < own.n && own.streams[i].number != number)
		i++;
	if (i == STREAMS)
		live_refuse("its processes share more than %d pipes, sockets and files", STREAMS);
	struct stream *s = &own.streams[i];
	if (i == own.n)
		own.streams[own.n++] = (struct stream){.number = number};
	op.len = (uint32_t)(head_len + len);
	op.process = tree_process();
	uint8_t *more = realloc(s->bytes, s->len + size_of(&op));
	if (!more)
		live_refuse("out of memory for the operations of its processes on shared pipes, sockets and files");
	memcpy(more + s->len, &op, sizeof(op));
	memcpy(more + s->len + sizeof(op), head, head_len);
	memcpy(more + s->len + sizeof(op) + head_len, bytes, len);
	s->bytes = more;
	s->len += size_of(&op);
}

static struct op at_present(enum op_kind kind)
{
	return (struct op){.kind = kind, .at_ns = replay_now_ns(), .begun_ns = replay_before_ns()};
}

void stream_add(unsigned number, enum op_kind kind, const void *bytes, uint64_t len)
{
	add(number, at_present(kind), NULL, 0, bytes, len);
}

void stream_moved(unsigned number, const void *bytes, uint64_t len, bool writing)
{
	stream_add(number, writing ? OP_WRITE : OP_READ, bytes, len);
}

void stream_began(unsigned number, const void *bytes, uint64_t len)
{
	add(number, (struct op){.kind = OP_WRITE}, NULL, 0, bytes, len);
}

void stream_add_at(unsigned number, uint64_t offset, const void *bytes, uint64_t len)
{
	add(number, at_present(OP_AT), &offset, sizeof(offset), bytes, len);
}

static void tell(const struct stream *s)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/stream-%u-%s", lower.opt.tree, s->number, lower.opt.process);
	new_file(path, s->bytes, s->len);
}

void streams_tell(void)
{
	for (unsigned i = 0; i < own.n; i++) {
		tell(&own.streams[i]);
		free(own.streams[i].bytes);
	}
	own.n = 0;
}

/* ---- at the cut ---- */

static void read_stream(struct all_ops *all, int folder, const char *name)
{
	struct stat st;
	int fd = descriptor_open(folder, name, O_RDONLY, 0);
	if (fd < 0 || fstat(fd, &st))
		live_refuse("%s cannot be read", name);
	uint8_t *more = realloc(all->bytes, all->len + (size_t)st.st_size);
	if (!more || io_read_all(fd, more + all->len, (size_t)st.st_size))
		live_refuse("%s cannot be read", name);
	all->bytes = more;
	all->len += (size_t)st.st_size;
	close(fd);
}

static int by_time(const void *a, const void *b)
{
	const struct op *one = *(const struct op *const *)a, *other = *(const struct op *const *)b;
	if (one->at_ns != other->at_ns)
		return one->at_ns < other->at_ns ? -1 : 1;
	return one < other ? -1 : one > other; /* both are of one process */
}

void stream_gather(struct all_ops *all, unsigned number)
{
	char prefix[32];
	struct dirent *entry;
	DIR *folder = opendir(lower.opt.tree);
	memset(all, 0, sizeof(*all));
	snprintf(prefix, sizeof(prefix), "stream-%u-", number);
	while (folder && (entry = readdir(folder)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			read_stream(all, dirfd(folder), entry->d_name);
	if (!folder)
		live_refuse("%s: %s", lower.opt.tree, strerror(errno));
	closedir(folder);
	for (size_t at = 0; at < all->len; at += size_of((struct op *)(all->bytes + at)))
		all->n++;
	all->ops = calloc(all->n + 1, sizeof(*all->ops));
	if (!all->ops)
		live_refuse("out of memory for the operations of its processes on shared pipes, sockets and files");
	size_t n = 0;
	for (size_t at = 0; at < all->len; at += size_of(all->ops[n++]))
		all->ops[n] = (const struct op *)(all->bytes + at);
	qsort(all->ops, all->n, sizeof(*all->ops), by_time);
}

void stream_free(struct all_ops *all)
{
	free(all->bytes);
	free(all->ops);
}

/* All bytes that were written or read, in order of time. */
static size_t joined(const struct all_ops *all, enum op_kind kind, uint8_t **out)
{
	size_t len = 0, done = 0;
	for (size_t i = 0; i < all->n; i++)
		len += all->ops[i]->kind == kind ? all->ops[i]->len : 0;
	*out = malloc(len + 1);
	if (!*out)
		live_refuse("out of memory for the contents of its pipes");
	for (size_t i = 0; i < all->n; i++)
		if (all->ops[i]->kind == kind) {
			memcpy(*out + done, all->ops[i] + 1, all->ops[i]->len);
			done += all->ops[i]->len;
		}
	return len;
}

size_t stream_left(const struct all_ops *all, uint8_t **whole, uint8_t **left)
{
	uint8_t *read;
	const size_t in = joined(all, OP_WRITE, whole), out = joined(all, OP_READ, &read);
	if (out > in || memcmp(*whole, read, out))
		live_refuse(
			"the unread bytes in a pipe or socket of its processes are not known: choose another event");
	free(read);
	*left = *whole + out;
	return in - out;
}
