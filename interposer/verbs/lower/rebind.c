#include "numbers.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/private.h"

enum { KINDS = 4, RANK_FILE_MAGIC = 0x33764252, PATIENCE_S = 120, LOOK_NS = 5000000, BOUND_MAX = 1 << 20 };
enum { COME_S = 3600 /* another rank may replay so much longer than this one */ };

struct bound {
	uint32_t shown, lower;
};

struct rank {
	struct {
		uint32_t magic;
		int32_t rank;
		uint16_t was_lids[NUMBERS_LIDS], lid, reserved;
		uint32_t nlids, ethernet, ngids, n[KINDS];
	} head;
	struct {
		uint32_t index, now_index;
		union ibv_gid was, now;
	} gids[NUMBERS_GIDS];
	struct bound *bound[KINDS];
};

bool numbers_rebound;

static struct {
	struct rank own, *ranks; /* ranks: all ranks, including this one */
	unsigned nranks;
	char why[4400];
} numbers;

/* ---- looking up ---- */

static const struct bound *by_shown(const struct rank *r, enum number_kind kind, uint32_t shown)
{
	for (uint32_t i = 0; i < r->head.n[kind]; i++)
		if (r->bound[kind][i].shown == shown)
			return &r->bound[kind][i];
	return NULL;
}

static const struct bound *by_lower(const struct rank *r, enum number_kind kind, uint32_t lower)
{
	for (uint32_t i = 0; i < r->head.n[kind]; i++)
		if (r->bound[kind][i].lower == lower)
			return &r->bound[kind][i];
	return NULL;
}

static const struct bound *window(const struct rank *r, uint32_t key, bool shown)
{
	for (uint32_t i = 0; i < r->head.n[NUMBER_WINDOW]; i++) {
		const struct bound *b = &r->bound[NUMBER_WINDOW][i];
		if ((shown ? b->shown : b->lower) >> 8 == key >> 8)
			return b;
	}
	return NULL;
}

/* `there` with its low byte advanced by the distance from `here` to `key`. */
static uint32_t as_far(uint32_t there, uint32_t here, uint32_t key)
{
	return (there & ~0xffu) | (uint8_t)(there + (key - here));
}

uint32_t number_lower(enum number_kind kind, uint32_t shown)
{
	const struct bound *b = by_shown(&numbers.own, kind, shown),
			   *w = b || kind != NUMBER_RKEY ? NULL : window(&numbers.own, shown, true);
	return b ? b->lower : w ? as_far(w->lower, w->shown, shown) : shown;
}

uint32_t number_shown(enum number_kind kind, uint32_t lower)
{
	const struct bound *b = by_lower(&numbers.own, kind, lower),
			   *w = b || kind != NUMBER_RKEY ? NULL : window(&numbers.own, lower, false);
	return b ? b->shown : w ? as_far(w->shown, w->lower, lower) : lower;
}

static bool rkey_of(const struct rank *r, uint32_t shown, uint32_t *lower)
{
	const struct bound *b = by_shown(r, NUMBER_RKEY, shown), *w = b ? NULL : window(r, shown, true);
	if (b || w)
		*lower = b ? b->lower : as_far(w->lower, w->shown, shown);
	return b || w;
}

static const struct rank *rank_of(int rank)
{
	for (unsigned i = 0; i < numbers.nranks; i++)
		if (numbers.ranks[i].head.rank == rank)
			return &numbers.ranks[i];
	return NULL;
}

/* The peer's rank may be unknown if the queue pair was made after the restart.  Then a key must belong to one rank. */
uint32_t number_rkey_of(int rank, uint32_t shown)
{
	const struct rank *r = rank_of(rank);
	uint32_t lower = shown;
	unsigned found = r ? rkey_of(r, shown, &lower) : 0;
	for (unsigned i = 0; !r && i < numbers.nranks; i++)
		found += rkey_of(&numbers.ranks[i], shown, &lower);
	return found == 1 ? lower : shown;
}

uint32_t number_peer_shown(uint32_t lower)
{
	for (unsigned i = 0; i < numbers.nranks; i++) {
		const struct bound *b = by_lower(&numbers.ranks[i], NUMBER_QP, lower);
		if (b)
			return b->shown;
	}
	return lower;
}

static int gid_of(const struct rank *r, const union ibv_gid *gid, bool was)
{
	for (uint32_t i = 0; i < r->head.ngids; i++)
		if (!memcmp(was ? &r->gids[i].was : &r->gids[i].now, gid, sizeof(*gid)))
			return (int)i;
	return -1;
}

static bool is_at(const struct rank *r, const struct ibv_ah_attr *a)
{
	if (a->is_global)
		return gid_of(r, &a->grh.dgid, true) >= 0 || gid_of(r, &a->grh.dgid, false) >= 0;
	for (uint32_t i = 0; i < r->head.nlids; i++)
		if (a->dlid == r->head.was_lids[i])
			return true;
	return a->dlid == r->head.lid;
}

/* Finds the rank by the QP number; if several ranks have the same number, by the address. */
static const struct rank *holder(uint32_t number, const struct ibv_ah_attr *address)
{
	const struct rank *found = NULL;
	for (unsigned i = 0; i < numbers.nranks; i++) {
		const struct rank *r = &numbers.ranks[i];
		if (by_shown(r, NUMBER_QP, number) && (!found || is_at(r, address)))
			found = r;
	}
	return found;
}

static uint8_t own_index(uint8_t index)
{
	for (uint32_t i = 0; i < numbers.own.head.ngids; i++)
		if (numbers.own.gids[i].index == index)
			return (uint8_t)numbers.own.gids[i].now_index;
	return index;
}

static void go_to(const struct rank *r, struct ibv_ah_attr *address)
{
	int at = address->is_global ? gid_of(r, &address->grh.dgid, true) : -1;
	if (at >= 0)
		address->grh.dgid = r->gids[at].now;
	else if (address->is_global && gid_of(r, &address->grh.dgid, false) < 0 && r->head.ngids)
		address->grh.dgid = r->gids[0].now;
	if (address->is_global)
		address->grh.sgid_index = own_index(address->grh.sgid_index);
	if (!address->is_global && r->head.ethernet && r->head.ngids) { /* Ethernet needs a GID */
		address->is_global = 1;
		address->grh = (struct ibv_global_route){
			.dgid = r->gids[0].now, .sgid_index = (uint8_t)numbers.own.gids[0].now_index, .hop_limit = 64};
	}
	address->dlid = r->head.lid;
}

int number_peer(uint32_t *number, struct ibv_ah_attr *address)
{
	const struct rank *r = holder(*number, address);
	if (!r)
		return NUMBERS_NO_RANK;
	*number = by_shown(r, NUMBER_QP, *number)->lower;
	go_to(r, address);
	return r->head.rank;
}

void number_address(struct ibv_ah_attr *address)
{
	for (unsigned i = 0; i < numbers.nranks; i++)
		if (is_at(&numbers.ranks[i], address)) {
			go_to(&numbers.ranks[i], address);
			return;
		}
	if (address->is_global) /* a multicast group */
		address->grh.sgid_index = own_index(address->grh.sgid_index);
}

bool number_free(enum number_kind kind, uint32_t number)
{
	uint32_t lower;
	if (kind == NUMBER_LKEY)
		return !by_shown(&numbers.own, kind, number);
	/* an rkey that another rank knows as its own would be taken for that one: number_rkey_of() */
	for (unsigned i = 0; i < numbers.nranks; i++)
		if (kind == NUMBER_RKEY ? rkey_of(&numbers.ranks[i], number, &lower)
					: by_shown(&numbers.ranks[i], kind, number) != NULL)
			return false;
	return true;
}

void number_forget(enum number_kind kind, uint32_t shown)
{
	struct bound *b = (struct bound *)(kind == NUMBER_WINDOW ? window(&numbers.own, shown, true)
								 : by_shown(&numbers.own, kind, shown));
	if (b)
		*b = numbers.own.bound[kind][--numbers.own.head.n[kind]];
}

/* ---- filled by a restart ---- */

void number_bind(enum number_kind kind, uint32_t shown, uint32_t lower)
{
	uint32_t n = numbers.own.head.n[kind];
	if (!(n & (n - 1))) {
		struct bound *p = realloc(numbers.own.bound[kind], (n ? 2ul * n : 1) * sizeof(*p));
		if (!p)
			abort();
		numbers.own.bound[kind] = p;
	}
	numbers.own.bound[kind][numbers.own.head.n[kind]++] = (struct bound){shown, lower};
}

void numbers_bind_port(const uint16_t *was_lids, unsigned nlids, uint16_t lid, bool ethernet)
{
	memcpy(numbers.own.head.was_lids, was_lids, nlids * sizeof(*was_lids));
	numbers.own.head.nlids = nlids;
	numbers.own.head.lid = lid;
	numbers.own.head.ethernet = ethernet;
}

void numbers_bind_gid(unsigned index, const union ibv_gid *was, unsigned now_index, const union ibv_gid *now)
{
	uint32_t n = numbers.own.head.ngids;
	if (n == NUMBERS_GIDS)
		return;
	numbers.own.gids[n].index = index;
	numbers.own.gids[n].now_index = now_index;
	numbers.own.gids[n].was = *was;
	numbers.own.gids[n].now = *now;
	numbers.own.head.ngids++;
}

/* ---- exchange: a file for each rank, written under another name and renamed when complete ---- */

static const char *why(const char *path, const char *what)
{
	snprintf(numbers.why, sizeof(numbers.why), "%s: %s", path, what);
	return numbers.why;
}

static bool all(ssize_t (*move)(int, void *, size_t), int fd, void *bytes, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = move(fd, (char *)bytes + done, len - done);
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static ssize_t write_some(int fd, void *bytes, size_t len)
{
	return write(fd, bytes, len);
}

static bool move_rank(ssize_t (*move)(int, void *, size_t), int fd, struct rank *r)
{
	bool good = all(move, fd, r->gids, sizeof(r->gids));
	for (unsigned kind = 0; good && kind < KINDS; kind++) {
		size_t len = r->head.n[kind] * sizeof(struct bound);
		if (!r->bound[kind] && len)
			r->bound[kind] = malloc(len);
		good = !len || (r->bound[kind] && all(move, fd, r->bound[kind], len));
	}
	return good;
}

static const char *publish(const char *folder, const char *what, int rank)
{
	char own[4096], path[4096];
	snprintf(own, sizeof(own), "%s/.%s-%d", folder, what, rank);
	snprintf(path, sizeof(path), "%s/%s-%d", folder, what, rank);
	int fd = private_open(AT_FDCWD, own, O_WRONLY | O_EXCL | O_NOFOLLOW);
	if (fd < 0)
		return why(own, strerror(-fd));
	bool good = all(write_some, fd, &numbers.own.head, sizeof(numbers.own.head)) &&
		    move_rank(write_some, fd, &numbers.own);
	close(fd);
	return good && rename(own, path) == 0 ? NULL : why(path, strerror(errno));
}

static bool too_late(time_t until)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > until;
}

static void pause_or(void (*meanwhile)(void))
{
	const struct timespec pause = {.tv_nsec = meanwhile ? LOOK_NS / 10 : LOOK_NS};
	if (meanwhile)
		meanwhile();
	nanosleep(&pause, NULL);
}

/* Returns a descriptor, or -1 with the reason in numbers.why. */
static int await(const char *folder, const char *what, int rank, time_t until, void (*meanwhile)(void))
{
	char path[4096];
	struct stat st;
	int fd;
	snprintf(path, sizeof(path), "%s/%s-%d", folder, what, rank);
	while ((fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
		if (errno != ENOENT || too_late(until)) {
			why(path,
			    errno == ENOENT ? "this rank has not made its queue pairs again in time" : strerror(errno));
			return -1;
		}
		pause_or(meanwhile);
	}
	if (fstat(fd, &st) || st.st_uid != geteuid()) {
		why(path, "it belongs to another user");
		close(fd);
		return -1;
	}
	return fd;
}

static time_t deadline(time_t seconds)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + seconds;
}

static bool read_rank(int fd, struct rank *r, int rank)
{
	bool good = all(read, fd, &r->head, sizeof(r->head)) && r->head.magic == RANK_FILE_MAGIC &&
		    r->head.rank == rank && r->head.ngids <= NUMBERS_GIDS && r->head.nlids <= NUMBERS_LIDS;
	for (unsigned kind = 0; kind < KINDS; kind++)
		good = good && r->head.n[kind] <= BOUND_MAX;
	return good && move_rank(read, fd, r);
}

const char *numbers_learn(const char *folder, const int *ranks, unsigned nranks)
{
	time_t until = deadline(COME_S);
	numbers.ranks = calloc(nranks, sizeof(*numbers.ranks));
	if (!numbers.ranks)
		return "out of memory";
	for (unsigned i = 0; i < nranks; i++) {
		int fd = await(folder, "verbs", ranks[i], until, NULL);
		if (fd < 0)
			return numbers.why;
		bool good = read_rank(fd, &numbers.ranks[i], ranks[i]);
		close(fd);
		if (!good)
			return why(folder, "a rank's description of its queue pairs is damaged");
		numbers.nranks++;
	}
	numbers_rebound = true;
	return NULL;
}

const char *numbers_exchange(const char *folder, int rank, const int *ranks, unsigned nranks)
{
	numbers.own.head.magic = RANK_FILE_MAGIC;
	numbers.own.head.rank = rank;
	const char *wrong = publish(folder, "verbs", rank);
	return wrong ? wrong : numbers_learn(folder, ranks, nranks);
}

const char *numbers_meet(const char *folder, const char *what, const struct numbers_meeting *all)
{
	time_t until = deadline(PATIENCE_S);
	while (all->before && *all->before) {
		if (too_late(until))
			return why(folder, "the other ranks do not answer");
		pause_or(all->meanwhile);
	}
	const char *wrong = publish(folder, what, all->rank);
	for (unsigned i = 0; !wrong && i < all->nranks; i++) {
		int fd = await(folder, what, all->ranks[i], until, all->meanwhile);
		if (fd < 0)
			return numbers.why;
		close(fd);
	}
	return wrong;
}
