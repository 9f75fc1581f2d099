#include "live/tree_share.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "live/live.h"
#include "live/open_files.h"
#include "live/open_table.h"
#include "live/reopen.h"
#include "live/tree.h"
#include "live/tree_born.h"
#include "process/descriptors.h"
#include "process/io.h"
#include "process/private_file.h"
#include "replay/replay.h"

enum { STREAMS = 4096, MODES = O_NONBLOCK | O_APPEND | O_DIRECT };

/* What one process did to one of them: bytes follow. */
struct op {
	uint64_t at_ns;
	uint32_t len, reads;
};

static struct {
	struct tree_fds fds;
	struct stream {
		uint32_t number;
		uint8_t *bytes;
		size_t len;
	} streams[STREAMS];
	unsigned n;
} share;

static size_t size_of(const struct op *op)
{
	return sizeof(*op) + ((op->len + 7ul) & ~7ul);
}

/* ---- on the way ---- */

static void add_op(unsigned number, const void *bytes, uint64_t len, bool writing, uint64_t at_ns)
{
	const struct op op = {.at_ns = at_ns, .len = (uint32_t)len, .reads = !writing};
	unsigned i = 0;
	while (i < share.n && share.streams[i].number != number)
		i++;
	if (i == STREAMS)
		live_refuse("its processes share more than %d pipes and sockets", STREAMS);
	struct stream *s = &share.streams[i];
	if (i == share.n)
		share.streams[share.n++] = (struct stream){.number = number};
	uint8_t *more = realloc(s->bytes, s->len + size_of(&op));
	if (!more)
		live_refuse("no memory for what was in its pipes");
	memcpy(more + s->len, &op, sizeof(op));
	memcpy(more + s->len + sizeof(op), bytes, len);
	s->bytes = more;
	s->len += size_of(&op);
}

void tree_moved(struct opened *f, const void *bytes, uint64_t done, bool writing)
{
	add_op(f->shared, bytes, done, writing, replay_now_ns());
}

void tree_stream_moved(uint32_t number, const void *bytes, uint64_t len, bool writing)
{
	add_op(number, bytes, len, writing, replay_now_ns());
}

void tree_flagged(struct opened *f)
{
	if (f->shared && f->made > 0)
		fcntl(f->made, F_SETFL, (int)(f->flags & MODES));
}

int tree_share_ready(int fd)
{
	fd = fd < 0 ? -errno : lower_fd(fd);
	if (fd < 0 || share.fds.n == TREE_FDS)
		live_refuse("what its processes share cannot be made: %s", fd < 0 ? strerror(-fd) : "too much");
	share.fds.fd[share.fds.n++] = fd;
	return fd;
}

void tree_share_own(uint32_t number, int read_end, int write_end)
{
	if (share.fds.nowned == TREE_OWNED)
		live_refuse("one of its processes made more than %d shared pipes", TREE_OWNED);
	share.fds.owned[share.fds.nowned].number = number;
	share.fds.owned[share.fds.nowned].read_end = read_end;
	share.fds.owned[share.fds.nowned++].write_end = write_end;
}

void tree_share_did(uint32_t number, const void *bytes, size_t len)
{
	add_op(number, bytes, len, true, 0);
}

void tree_share_born(uint32_t number, const int fd[2], int copy)
{
	if (share.fds.nborn == TREE_BORN)
		live_refuse("its processes shared more than %d open files", TREE_BORN);
	share.fds.born[share.fds.nborn].number = number;
	memcpy(share.fds.born[share.fds.nborn].fd, fd, 2 * sizeof(*fd));
	share.fds.born[share.fds.nborn++].copy = copy;
}

const struct tree_fds *tree_share_all(void)
{
	return &share.fds;
}

static void share_pipe(struct opened *f)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		live_refuse("a pipe: %s", strerror(errno));
	const unsigned number = tree_shared_number(), pipe = f->pipe;
	ends[0] = tree_share_ready(ends[0]);
	ends[1] = tree_share_ready(ends[1]);
	tree_share_own(number, ends[0], ends[1]);
	if (open_table.pipes[pipe].len)
		add_op(number, open_table.pipes[pipe].bytes, open_table.pipes[pipe].len, true, 0);
	for (struct opened *o = open_table.opened; o < open_table.opened + OPENED; o++)
		if (o->kind == PIPE && o->pipe == pipe) {
			o->shared = number;
			o->made = ends[!o->read_end];
			o->set = false;
			fcntl(o->made, F_SETFL, (int)(o->flags & O_NONBLOCK));
		}
}

static void share_event(struct opened *f)
{
	f->made = tree_share_ready(eventfd(0, (int)f->flags & (EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)));
	f->shared = tree_shared_number();
	tree_share_own(f->shared, f->made, f->made);
	add_op(f->shared, &f->count, sizeof(f->count), true, 0);
}

void tree_share(void)
{
	open_table_begin();
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		if (f->shared)
			continue;
		switch (f->kind) {
		case PIPE: share_pipe(f); break;
		case EVENT: share_event(f); break;
		case FILE_READ:
		case FILE_WRITTEN: {
			const int fd = reopen(f);
			if (fd < 0)
				live_refuse("%s: %s", f->path, strerror(-fd));
			f->made = tree_share_ready(fd);
			f->shared = tree_shared_number();
			break;
		}
		case SOCKET: f->set = false; break;
		default: break;
		}
	}
}

void tree_share_fds(struct tree_fds *out)
{
	*out = share.fds;
}

void tree_share_inherit(const struct tree_fds *in)
{
	share.fds = *in;
}

void tree_share_in_child(void)
{
	share.fds.nowned = 0;
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		f->touched = f->set = false;
		if (f->kind == TIMER || f->kind == EPOLL || f->kind == LIBRARY) {
			f->call = SYS_timerfd_create;
			f->kind = OTHER; /* refused, if it still has it at the cut */
		}
	}
	open_table.nwatched = 0;
}

static void stays(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}

void tree_share_keep(void)
{
	for (unsigned i = 0; i < share.fds.n; i++)
		stays(share.fds.fd[i]);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == FILE_WRITTEN)
			stays(f->copy);
}

/* ---- at the cut ---- */

static void tell_stream(const struct stream *s)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/stream-%u-%s", lower.opt.tree, s->number, lower.opt.process);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	int rc = fd < 0 ? fd : io_write_all(fd, s->bytes, s->len, 0, 1 << 20);
	if (rc)
		live_refuse("%s: %s", path, strerror(-rc));
	close(fd);
}

/* A file's offset is that of the one process that has moved it. */
static void tell_offset(const struct opened *f)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/offset-%u", lower.opt.tree, f->shared);
	int fd = private_create(AT_FDCWD, path, O_WRONLY | O_EXCL);
	if (fd == -EEXIST)
		live_refuse("%s: several of its processes have moved in it, by one descriptor", f->path);
	if (fd < 0 || lseek(f->made, (off_t)f->offset, SEEK_SET) < 0)
		live_refuse("%s: %s", f->path, strerror(errno));
	close(fd);
}

void tree_share_told(void)
{
	for (unsigned i = 0; i < share.n; i++) {
		tell_stream(&share.streams[i]);
		free(share.streams[i].bytes);
	}
	share.n = 0;
}

/* Flags that one process has set are everybody's; of several that have set others nobody knows who was last. */
static void modes_path(char *path, size_t size, const struct opened *f, unsigned modes)
{
	snprintf(path, size, "%s/modes-%u-%x", lower.opt.tree, f->shared, modes);
}

static void tell_modes(const struct opened *f)
{
	char path[4096];
	modes_path(path, sizeof(path), f, f->flags & MODES);
	int fd = private_create(AT_FDCWD, path, O_WRONLY);
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	close(fd);
}

static void compare_modes(const struct opened *f)
{
	static const unsigned each[] = {O_NONBLOCK, O_APPEND, O_DIRECT};
	char path[4096];
	for (unsigned i = 0; i < 8; i++) {
		const unsigned modes = (i & 1 ? each[0] : 0) | (i & 2 ? each[1] : 0) | (i & 4 ? each[2] : 0);
		modes_path(path, sizeof(path), f, modes);
		if (modes != (f->flags & MODES) && access(path, F_OK) == 0)
			live_refuse("several of its processes have set the flags of one descriptor, with fcntl(2)");
	}
}

/* What nobody has any more needs no filling. */
static void tell_holding(const struct opened *f)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/held-%u", lower.opt.tree, f->shared);
	int fd = private_create(AT_FDCWD, path, O_WRONLY);
	if (fd < 0)
		live_refuse("%s: %s", path, strerror(-fd));
	close(fd);
}

static bool held(unsigned number)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/held-%u", lower.opt.tree, number);
	return access(path, F_OK) == 0;
}

void tree_share_offsets(void)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && f->shared && f->set)
			tell_modes(f);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->shared && (f->kind == PIPE || f->kind == EVENT))
			tell_holding(f);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->shared && f->touched && (f->kind == FILE_READ || f->kind == FILE_WRITTEN))
			tell_offset(f);
}

struct all {
	uint8_t *bytes;
	size_t len;
	const struct op **ops;
	size_t n;
};

static void read_stream(struct all *all, int folder, const char *name)
{
	struct stat st;
	int fd = descriptor_open(folder, name, O_RDONLY, 0);
	if (fd < 0 || fstat(fd, &st))
		live_refuse("%s cannot be read", name);
	uint8_t *more = realloc(all->bytes, all->len + (size_t)st.st_size);
	if (!more || read(fd, more + all->len, (size_t)st.st_size) != st.st_size)
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
	return one < other ? -1 : one > other; /* of one process */
}

static void gather(struct all *all, unsigned number)
{
	char prefix[32];
	struct dirent *entry;
	DIR *folder = opendir(lower.opt.tree);
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
		live_refuse("no memory for what was in its pipes");
	size_t n = 0;
	for (size_t at = 0; at < all->len; at += size_of(all->ops[n++]))
		all->ops[n] = (const struct op *)(all->bytes + at);
	qsort(all->ops, all->n, sizeof(*all->ops), by_time);
}

/* All that was written or read, in the order of its time. */
static size_t joined(const struct all *all, bool reads, uint8_t **out)
{
	size_t len = 0, done = 0;
	for (size_t i = 0; i < all->n; i++)
		len += all->ops[i]->reads == reads ? all->ops[i]->len : 0;
	*out = malloc(len + 1);
	if (!*out)
		live_refuse("no memory for what was in its pipes");
	for (size_t i = 0; i < all->n; i++)
		if (all->ops[i]->reads == reads) {
			memcpy(*out + done, all->ops[i] + 1, all->ops[i]->len);
			done += all->ops[i]->len;
		}
	return len;
}

/* What was written and not read, to be freed; *whole: all that was written. */
static size_t left_of(const struct all *all, uint8_t **whole, uint8_t **left)
{
	uint8_t *read;
	const size_t in = joined(all, false, whole), out = joined(all, true, &read);
	if (out > in || memcmp(*whole, read, out))
		live_refuse("what was in a pipe or a socket of its processes cannot be told: choose another event");
	free(read);
	*left = *whole + out;
	return in - out;
}

size_t tree_stream_left(uint32_t number, uint8_t **whole, uint8_t **left)
{
	struct all all = {0};
	gather(&all, number);
	const size_t len = left_of(&all, whole, left);
	free(all.bytes);
	free(all.ops);
	return len;
}

static void fill_pipe(const struct all *all, int write_end, uint32_t number)
{
	uint8_t *written, *from;
	const size_t left = left_of(all, &written, &from);
	if (left > (size_t)fcntl(write_end, F_GETPIPE_SZ) && fcntl(write_end, F_SETPIPE_SZ, (int)left) < 0)
		live_refuse("%zu bytes are in a pipe of its processes: %s", left, strerror(errno));
	if (left && write(write_end, from, left) != (ssize_t)left)
		live_refuse("a pipe of its processes does not take what was in it");
	tree_born_filled(number, from, left);
	free(written);
}

static void fill_event(const struct all *all, int fd, uint32_t number)
{
	uint64_t value, count = 0;
	for (size_t i = 0; i < all->n; i++) {
		memcpy(&value, all->ops[i] + 1, sizeof(value));
		count += all->ops[i]->reads ? -value : value;
	}
	if (count && write(fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		live_refuse("an eventfd of its processes does not take what was in it");
	tree_born_filled(number, &count, sizeof(count));
}

void tree_share_fill(void)
{
	for (unsigned i = 0; i < share.fds.nowned; i++) {
		struct all all = {0};
		if (!held(share.fds.owned[i].number))
			continue;
		gather(&all, share.fds.owned[i].number);
		if (share.fds.owned[i].read_end == share.fds.owned[i].write_end)
			fill_event(&all, share.fds.owned[i].write_end, share.fds.owned[i].number);
		else
			fill_pipe(&all, share.fds.owned[i].write_end, share.fds.owned[i].number);
		free(all.bytes);
		free(all.ops);
	}
}

static bool in_table(int fd)
{
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind != NONE && (f->made == fd || (f->kind == FILE_WRITTEN && f->copy == fd)))
			return true;
	return false;
}

void tree_share_close(void)
{
	for (unsigned i = 0; i < share.fds.n; i++)
		if (!in_table(share.fds.fd[i]))
			lower_fd_close(share.fds.fd[i]);
	for (const struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == NONE || !f->shared || f->made <= 0)
			continue;
		else if (f->set)
			compare_modes(f);
		else if (f->kind == PIPE && f->flags & O_DIRECT)
			fcntl(f->made, F_SETFL, fcntl(f->made, F_GETFL) | O_DIRECT);
}
