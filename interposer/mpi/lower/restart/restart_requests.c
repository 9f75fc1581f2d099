/* Follows the program's pending requests by the calls that the log answers.  Nothing of them is made again before the
 * cut, except persistent requests. */
#include "lower/objects/large.h"
#include "lower/restart/restart.h"

static struct {
	uint32_t *ids; /* requests, or the message, of the current call */
	size_t n, room;
} about;

static struct pending **find(enum kind kind, uint32_t id)
{
	struct pending **at = &restart_first;

	while (*at && ((*at)->id != id || ((*at)->kind == MATCHES) != (kind == MATCHES)))
		at = &(*at)->next;
	return at;
}

struct pending **restart_find(uint32_t id)
{
	return find(UNKNOWN, id);
}

struct pending *restart_follow(const char *name, enum kind kind, uint32_t id)
{
	struct pending *one = needed(calloc(1, sizeof(*one)));

	*one = (struct pending){.kind = kind, .name = name, .id = id};
	*restart_last = one;
	restart_last = &one->next;
	return one;
}

static bool sends(const struct pending *one)
{
	return one->kind == POSTS_SEND || one->kind == POSTS_DONE ||
	       (one->kind == STARTS && !request_of(one->id)->receive);
}

/* ---- handles of a call, before the answer ---- */

static void remember(unsigned class, void **upper, size_t n)
{
	about.n = upper ? n : 0;
	if (about.n > about.room) {
		about.room = about.n;
		about.ids = needed(realloc(about.ids, about.room * sizeof(*about.ids)));
	}
	for (size_t i = 0; i < about.n; i++)
		about.ids[i] = rdb_id(class, upper[i]);
}

static size_t count_of(const uint64_t *a)
{
	return (int)a[0] > 0 ? (size_t)(int)a[0] : 0;
}

const char *restart_asked(const char *name, enum kind kind, const uint64_t *a)
{
	struct pending *one;

	switch (kind) {
	case ONE:
	case FREES:
	case CANCELS: remember(RDB_REQUEST, (void **)a[0], 1); break;
	case MANY: remember(RDB_REQUEST, (void **)a[1], count_of(a)); break;
	case STARTS:
		if (strstr(name, "Startall"))
			remember(RDB_REQUEST, (void **)a[1], count_of(a));
		else
			remember(RDB_REQUEST, (void **)a[0], 1);
		break;
	case TAKES:
	case POSTS_MATCHED: remember(RDB_MESSAGE, (void **)a[3], 1); break;
	default: break;
	}
	if (kind == FREES && about.n) {
		one = *find(kind, about.ids[0]);
		if (one && one->kind == PARTITIONED ? one->started : one && !sends(one))
			return restart_refuse(name, "it frees the request of a pending operation, which cannot be "
						    "brought back");
	}
	return NULL;
}

/* ---- completion ---- */

static bool named(const uint64_t *a, int i)
{
	const int *done = (int *)a[2], *indices = (int *)a[3];

	for (int k = 0; done && k < *done; k++)
		if (indices[k] == i)
			return true;
	return false;
}

/* Whether the call has completed the i-th request; for a persistent one the handle does not tell. */
static bool complete(const char *name, enum kind kind, const uint64_t *a, void **upper, int i)
{
	const char *what = strncmp(name, "MPI_", 4) ? name : name + 4;

	if (rdb_id(RDB_REQUEST, upper[i]) != about.ids[i])
		return true;
	if (!request_of(about.ids[i])->persistent)
		return false;
	if (kind == ONE)
		return !strcmp(what, "Wait") || *(int *)a[1];
	if (!strcmp(what, "Waitall"))
		return true;
	if (!strcmp(what, "Testall"))
		return *(int *)a[2];
	if (!strcmp(what, "Waitany"))
		return i == *(int *)a[2];
	if (!strcmp(what, "Testany"))
		return *(int *)a[3] && i == *(int *)a[2];
	return named(a, i);
}

/* MPI_Comm_idup is complete: the program may use the copy, which was made again on the way. */
static void copied(uint32_t id)
{
	struct vreq *request = request_of(id);
	MPI_Request real = request->o.real;
	MPI_Status status = status_empty;

	if (PMPI_Wait(&real, &status) != MPI_SUCCESS)
		host->fatal("MPI_Comm_idup fails after a restart");
	request_complete(request, &status);
	object_drop(&request->o);
}

static void completions(const char *name, enum kind kind, const uint64_t *a)
{
	void **upper = (void **)(kind == MANY ? a[1] : a[0]);

	for (size_t i = 0; i < about.n; i++) {
		struct pending **at = find(kind, about.ids[i]);

		if (!*at || !complete(name, kind, a, upper, (int)i))
			continue;
		if ((*at)->kind == PARTITIONED) {
			if (kind == FREES)
				restart_parts_freed(at);
			else
				restart_parts_complete(*at);
			continue;
		}
		if ((*at)->kind == POSTS_COPY)
			copied(about.ids[i]);
		restart_settled(at);
	}
}

/* ---- posting ---- */

static void hold_handles(struct pending *one)
{
	static const char letters[] = "cto";
	static const unsigned classes[] = {RDB_COMM, RDB_TYPE, RDB_OP};
	const char *handles = real_functions[one->index].handles;
	unsigned n = 0;

	for (unsigned i = 0; handles[i] && i < one->nargs; i++) {
		const char *letter = strchr(letters, handles[i]);

		if (letter && n < PENDING_HANDLES)
			one->held[n++] = object_hold(object_of(classes[letter - letters], one->args[i]));
	}
}

/* The request is the last argument of all posting calls. */
static void posted(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a)
{
	void **upper = nargs ? (void **)a[nargs - 1] : NULL;
	uint32_t id = upper ? rdb_id(RDB_REQUEST, *upper) : 0;
	/* argument numbers of the receive: buffer, source */
	static const unsigned receives[] = {0, 3}, exchanges[] = {5, 8}, replaces[] = {0, 5};
	const unsigned *places = receives;
	struct pending *one;

	if (id < RDB_FIRST_DYNAMIC)
		return;
	if (kind == POSTS_EXCHANGE) {
		places = strstr(name, "replace") ? replaces : exchanges;
		kind = POSTS_RECEIVE;
	}
	one = restart_follow(name, kind, id);
	if (kind == POSTS_DONE)
		restart_file_posted(one);
	if (kind == POSTS_RECEIVE) {
		uint64_t large[TRANSLATION_ARGUMENTS];

		one->large = large_call(index, a);
		if (one->large)
			a = large_arguments(index, nargs, a, large);
		one->buf = (void *)a[places[0]];
		one->count = (int)a[places[0] + 1];
		one->type = object_hold(type_of(a[places[0] + 2]));
		one->source = rank_in((int)a[places[1]]);
		one->tag = tag_in((int)a[places[1] + 1]);
		one->comm = object_hold(comm_of(a[places[1] + 2]));
	}
	if (kind == POSTS_OWN)
		memcpy(one->args, a, nargs * sizeof(*a));
	if (kind == POSTS_COLLECTIVE || kind == PARTITIONED) {
		one->index = index;
		one->nargs = nargs;
		memcpy(one->args, a, nargs * sizeof(*a));
		hold_handles(one);
	}
	if (kind == PARTITIONED)
		restart_parts_made(one);
}

static void started(const char *name)
{
	for (size_t i = 0; i < about.n; i++) {
		if (about.ids[i] < RDB_FIRST_DYNAMIC)
			continue;
		if (request_of(about.ids[i])->partitioned)
			restart_parts_started(*restart_find(about.ids[i]));
		else
			restart_follow(name, STARTS, about.ids[i]);
	}
}

/* ---- matched messages ---- */

/* source, tag, comm, (flag,) message, status */
static void matched(const char *name, const uint64_t *a)
{
	bool asks = strstr(name, "Improbe");
	void **upper = (void **)a[asks ? 4 : 3];
	const struct upper_status *status = (void *)a[asks ? 5 : 4];
	uint32_t id = asks && !*(int *)a[3] ? 0 : rdb_id(RDB_MESSAGE, *upper);
	struct pending *one;

	if (id < RDB_FIRST_DYNAMIC)
		return;
	one = restart_follow(name, MATCHES, id);
	one->source = rank_in(status ? status->source : (int)a[0]);
	one->tag = tag_in(status ? status->tag : (int)a[1]);
	one->comm = object_hold(comm_of(a[2]));
}

/* buf, count, datatype, message, request or status */
static void taken(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a)
{
	uint64_t large[TRANSLATION_ARGUMENTS];
	struct pending **at = find(MATCHES, about.n ? about.ids[0] : 0), *one = *at;

	if (!one)
		return;
	if (kind == TAKES) {
		restart_settled(at);
		return;
	}
	one->large = large_call(index, a);
	if (one->large)
		a = large_arguments(index, nargs, a, large);
	one->kind = POSTS_MATCHED; /* keeps its place in the order of posting */
	one->name = name;
	one->id = rdb_id(RDB_REQUEST, *(void **)a[4]);
	one->buf = (void *)a[0];
	one->count = (int)a[1];
	one->type = object_hold(type_of(a[2]));
}

static const char *answered(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a)
{
	struct pending *one;

	switch (kind) {
	case POSTS_SEND:
	case POSTS_RECEIVE:
	case POSTS_EXCHANGE:
	case POSTS_COLLECTIVE:
	case POSTS_DONE:
	case POSTS_OWN:
	case PARTITIONED:
	case POSTS_COPY: posted(name, kind, index, nargs, a); break;
	case COMPLETES_OWN:
		one = *find(kind, (uint32_t)a[0]);
		if (one)
			one->complete = true;
		break;
	case READIES: restart_parts_ready(name, a); break;
	case ARRIVES: restart_parts_arrived(a); break;
	case STARTS: started(name); break;
	case MATCHES: matched(name, a); break;
	case TAKES:
	case POSTS_MATCHED: taken(name, kind, index, nargs, a); break;
	case CANCELS:
		one = *find(kind, about.n ? about.ids[0] : 0);
		if (one && sends(one))
			return restart_refuse(name, "it cancels a send, and whether the message arrives is not known");
		if (one)
			one->cancelled = true;
		break;
	case LOOKS:
		one = *find(kind, (uint32_t)a[0]);
		if (one && a[1] && *(int *)a[1] && (one->kind != PARTITIONED || one->started))
			one->looked = true;
		break;
	default: break;
	}
	return NULL;
}

const char *restart_answered(const char *name, enum kind kind, unsigned index, uint32_t nargs, const uint64_t *a,
			     int64_t result)
{
	if (kind == ONE || kind == MANY || kind == FREES)
		completions(name, kind, a);
	if (kind == TAKES && is_truncation(error_in((int)result)))
		taken(name, kind, index, nargs, a);
	return (int)result ? NULL : answered(name, kind, index, nargs, a);
}
