/* A whole-job replay: persistent requests, matched messages and nonblocking collectives, by the program's ids. */
#include "lower/order/order_expand.h"
#include "lower/restart/restart.h"

/* A request or a message of the program. */
struct named {
	struct named *next;
	uint32_t id;
	void *handle;     /* of a collective: request of our own call */
	uint64_t order;   /* of a message that was matched */
	uint64_t args[6]; /* of a persistent request: buffer, count, then the peer and the tag */
	struct vtype *type;
	struct vcomm *comm;
	bool receive;
};

static struct named *collectives, *messages, *persistent;
static void *begun;      /* request of the collective that the current call has begun */
static uint32_t matched; /* message that the current call receives */

static struct named **named(struct named **list, uint32_t id)
{
	while (*list && (*list)->id != id)
		list = &(*list)->next;
	return list;
}

static struct named *remember(struct named **list, uint32_t id)
{
	struct named *one = needed(calloc(1, sizeof(*one)));

	one->id = id;
	one->next = *list;
	*list = one;
	return one;
}

static void forget(struct named **at)
{
	struct named *one = *at;

	if (!one)
		return;
	*at = one->next;
	if (one->type)
		object_release(&one->type->o);
	if (one->comm)
		object_release(&one->comm->o);
	free(one);
}

uint32_t order_request_id(uint64_t upper)
{
	return upper ? rdb_id(RDB_REQUEST, *(void **)upper) : 0;
}

/* ---- persistent requests ---- */

void order_persistent_made(const char *name, const uint64_t *a)
{
	struct named *one = remember(&persistent, order_request_id(a[6]));

	one->receive = strstr(name, "Recv") != NULL;
	memcpy(one->args, a, sizeof(one->args));
	one->type = object_hold(type_of(a[2]));
	one->comm = object_hold(comm_of(a[5]));
}

static const char *start(uint32_t id)
{
	const struct named *one = *named(&persistent, id);
	const uint64_t *a = one ? one->args : NULL;

	if (!one)
		return NULL; /* of a kind whose data is in the log */
	if (one->receive)
		return order_post((void *)a[0], (int)a[1], one->type, rank_in((int)a[3]), tag_in((int)a[4]), one->comm);
	return order_send((void *)a[0], (int)a[1], one->type, rank_in((int)a[3]), tag_in((int)a[4]), one->comm, true,
			  0);
}

const char *order_persistent_started(const char *name, const uint64_t *a)
{
	bool all = strstr(name, "Startall") != NULL;
	void **upper = (void **)a[all ? 1 : 0];
	const char *why = NULL;

	for (int i = 0; !why && i < (all ? (int)a[0] : 1); i++)
		why = start(rdb_id(RDB_REQUEST, upper[i]));
	return why;
}

void order_persistent_freed(uint64_t upper)
{
	forget(named(&persistent, order_request_id(upper)));
}

/* ---- matched messages ---- */

void order_message_asked(uint64_t upper)
{
	matched = upper ? rdb_id(RDB_MESSAGE, *(void **)upper) : 0;
}

/* source, tag, comm, (flag,) message, status */
const char *order_message_matched(const char *name, const uint64_t *a)
{
	bool asks = strstr(name, "Improbe") != NULL;
	void **upper = (void **)a[asks ? 4 : 3];
	const char *why;
	uint64_t number;

	if (asks && !*(int *)a[3])
		return NULL;
	why = order_match(rank_in((int)a[0]), tag_in((int)a[1]), comm_of(a[2]), &number);
	if (!why && upper && rdb_id(RDB_MESSAGE, *upper) >= RDB_FIRST_DYNAMIC)
		remember(&messages, rdb_id(RDB_MESSAGE, *upper))->order = number;
	return why;
}

const char *order_message_taken(const uint64_t *a)
{
	struct named **at = named(&messages, matched);
	const char *why = *at ? order_post_matched((void *)a[0], (int)a[1], type_of(a[2]), (*at)->order) : NULL;

	forget(at);
	return why;
}

/* ---- collectives ---- */

/* The request is the last argument of all nonblocking collectives. */
const char *order_collective_begin(unsigned index, uint32_t nargs, const uint64_t *a, bool says)
{
	uint64_t args[TRANSLATION_ARGUMENTS];

	begun = NULL;
	memcpy(args, a, nargs * sizeof(*a));
	args[nargs - 1] = (uint64_t)&begun;
	if ((says ? restart_call(index, nargs, args) : restart_silent_call(index, nargs, args)) || !begun)
		return restart_refuse(real_functions[index].name, "it succeeded in the recording and fails now");
	return NULL;
}

void order_collective_begun(uint64_t upper)
{
	if (begun)
		remember(&collectives, order_request_id(upper))->handle = begun;
	begun = NULL;
}

const char *order_collective_done(uint32_t id)
{
	struct named **at = named(&collectives, id);
	uint64_t wait[] = {(uint64_t)(*at ? &(*at)->handle : NULL), 0};
	int64_t rc = 0;

	if (*at) {
		host->waits(RDB_WAIT_TOGETHER, 0, 0);
		rc = restart_silent_call(RDB_Wait, 2, wait);
		host->waits(RDB_WAIT_NOTHING, 0, 0);
	}
	forget(at);
	return rc ? restart_refuse("a nonblocking collective", "it succeeded in the recording and fails now") : NULL;
}
