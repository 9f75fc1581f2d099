#include "restart/sockets/socket_ends.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/lower.h"
#include "restart/sockets/kernel_sockets.h"
#include "restart/sockets/sockets.h"
#include "base/private_file.h"

struct end {
	char key[SOCKET_KEY];
	unsigned rank, connects, closed; /* closed: the other end is */
};

static struct {
	struct end *ends;
	unsigned n;
	char why[SOCKET_KEY + 160];
	bool published;
} all;

static void path_of(char out[4200], unsigned rank)
{
	snprintf(out, 4200, "%s/../rank-%u/socket-ends", lower.opt.dir, rank);
}

void socket_ends_drop(void)
{
	char path[4200];
	if (!all.published)
		return;
	path_of(path, (unsigned)lower.opt.board_rank);
	unlink(path);
	all.published = false;
}

int socket_ends_publish(uint64_t generation)
{
	char path[4200], temp[4300];
	socket_ends_drop();
	if (!kernel_sockets_connected())
		return 0;
	path_of(path, (unsigned)lower.opt.board_rank);
	snprintf(temp, sizeof(temp), "%s.part", path);
	const int fd = private_create(AT_FDCWD, temp, O_WRONLY | O_TRUNC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return fd < 0 ? fd : -errno;
	fprintf(f, "%lu\n", (unsigned long)generation);
	for (const struct sock *s = sockets; s < sockets + SOCKETS; s++)
		if (s->used && (s->state == SOCKET_CONNECTS || s->state == SOCKET_ACCEPTED))
			fprintf(f, "%u %u %s\n", s->state == SOCKET_CONNECTS, s->read_shut, s->key);
	const bool bad = ferror(f);
	if (fclose(f) || bad || rename(temp, path))
		return -EIO;
	all.published = true;
	return 0;
}

static bool add(const struct end *one)
{
	void *p = realloc(all.ends, (all.n + 1ul) * sizeof(*all.ends));
	if (!p)
		return false;
	all.ends = p;
	all.ends[all.n++] = *one;
	return true;
}

static bool collect(unsigned rank, uint64_t generation)
{
	char path[4200];
	unsigned long of;
	bool good = true;
	path_of(path, rank);
	FILE *f = fopen(path, "re");
	if (!f)
		return errno == ENOENT; /* the rank has none */
	if (fscanf(f, "%lu", &of) == 1 && of == generation) {
		struct end one = {.rank = rank};
		while (good && fscanf(f, "%u %u %319s", &one.connects, &one.closed, one.key) == 3)
			good = add(&one);
	}
	fclose(f);
	return good;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct end *)a)->key, ((const struct end *)b)->key);
}

/* Each key has to be there twice, once for either side. */
const char *socket_ends_unmatched(uint64_t generation)
{
	all.n = 0;
	for (unsigned rank = 0; rank < lower.opt.board_ranks; rank++)
		if (!collect(rank, generation))
			return "the ranks' lists of their sockets cannot be read";
	if (all.n)
		qsort(all.ends, all.n, sizeof(*all.ends), by_name);
	for (unsigned i = 0; i < all.n; i++) {
		const struct end *e = &all.ends[i], *next = i + 1 < all.n ? e + 1 : NULL;
		if (e->closed)
			continue;
		if (next && !strcmp(e->key, next->key) && e->connects != next->connects) {
			i++;
			continue;
		}
		snprintf(all.why, sizeof(all.why),
			 "rank %u: one of its sockets (%s) is connected to a process outside of the job, or one that "
			 "has closed its end",
			 e->rank, e->key);
		return all.why;
	}
	return NULL;
}
