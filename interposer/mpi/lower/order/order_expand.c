/* A whole-job replay of a recording made with --record=order.  The log answers; the real MPI makes again what the log
 * does not hold, the bytes of messages and the results of collectives.  Objects are made as in a restart (restart.c).
 * Windows, files and reductions with operations of the program are in the log and are not done again. */
#include "lower/objects/large.h"
#include "lower/order/order_expand.h"
#include "lower/restart/restart.h"

enum { FUNCTIONS = 1024 };

static struct {
	uint32_t *ids; /* requests that the current call may complete, by their index in its array */
	size_t n, room;
} about;

static enum kind kind_of(unsigned index)
{
	static unsigned char known[FUNCTIONS]; /* 1 + kind */

	if (index >= FUNCTIONS)
		return UNKNOWN;
	if (!known[index])
		known[index] = (unsigned char)(1 + restart_kind(real_functions[index].name));
	return known[index] - 1;
}

static const char *is(const char *name)
{
	return strncmp(name, "MPI_", 4) ? name : name + 4;
}

static bool not_redone(const char *name)
{
	const char *what = is(name);

	return !strncmp(what, "Win_", 4) || !strncmp(what, "Buffer_", 7) || !strncmp(what, "File_", 5);
}

/* ---- sends ---- */

static const char *send_of(const uint64_t *a, bool copy, uint32_t id)
{
	return order_send((void *)a[0], (int)a[1], type_of(a[2]), rank_in((int)a[3]), tag_in((int)a[4]), comm_of(a[5]),
			  copy, id);
}

static const char *exchange(const char *name, const uint64_t *a, const struct rdb_note_recv *came, bool last)
{
	bool replace = strstr(name, "replace") != NULL;
	struct vcomm *comm = comm_of(a[replace ? 7 : 10]);
	int dest = rank_in((int)a[3]), tag = tag_in((int)a[4]);
	const char *why;

	if (replace && !last)
		return order_exchange((void *)a[0], (int)a[1], type_of(a[2]), dest, tag, comm, came);
	why = order_send((void *)a[0], (int)a[1], type_of(a[2]), dest, tag, comm, last, ORDER_EXCHANGED);
	if (!why && came)
		return order_receive_now((void *)a[5], (int)a[6], type_of(a[7]), comm, came);
	if (!last)
		order_sent(ORDER_EXCHANGED);
	return why;
}

/* MPI_Isendrecv, MPI_Isendrecv_replace: a send and a receive with one request. */
static bool posts_exchange(const char *name)
{
	return !strncmp(is(name), "Isendrecv", 9);
}

static const char *exchange_posted(const char *name, const uint64_t *a, bool last)
{
	bool replace = strstr(name, "replace") != NULL;
	const uint64_t *receive = replace ? a + 5 : a + 8; /* source, tag, comm */
	struct vcomm *comm = comm_of(receive[2]);
	/* from a copy, as while recording */
	const char *why = order_send((void *)a[0], (int)a[1], type_of(a[2]), rank_in((int)a[3]), tag_in((int)a[4]),
				     comm, true, 0);

	if (why || last)
		return why;
	return order_post((void *)a[replace ? 0 : 5], (int)a[replace ? 1 : 6], type_of(a[replace ? 2 : 7]),
			  rank_in((int)receive[0]), tag_in((int)receive[1]), comm);
}

/* ---- before the log's answer ---- */

static void about_requests(void **upper, size_t n)
{
	about.n = 0;
	if (!order_sends_waited_for || !upper)
		return;
	if (n > about.room) {
		about.room = n;
		about.ids = needed(realloc(about.ids, n * sizeof(*about.ids)));
	}
	for (; about.n < n; about.n++)
		about.ids[about.n] = rdb_id(RDB_REQUEST, upper[about.n]);
}

static size_t count_of(const uint64_t *a)
{
	return (int)a[0] > 0 ? (size_t)(int)a[0] : 0;
}

/* The receive of a blocking call; those of requests have the request's id. */
static const struct rdb_note_recv *own_receive(const struct rdb_recorded *recorded)
{
	for (unsigned i = 0; i < recorded->nreceived; i++)
		if (!recorded->received[i].request)
			return &recorded->received[i];
	return NULL;
}

static bool unknown(unsigned class, uint64_t id)
{
	return id >= RDB_FIRST_DYNAMIC && !object_of(class, id)->real;
}

/* Whether it works on an object that was not made again, such as the group of a window. */
static bool of_unknown(unsigned index, uint32_t nargs, const uint64_t *a)
{
	static const char letters[] = "ctgoi";
	static const unsigned classes[] = {RDB_COMM, RDB_TYPE, RDB_GROUP, RDB_OP, RDB_INFO};
	const char *handles = real_functions[index].handles;

	for (unsigned i = 0; handles[i] && i < nargs; i++) {
		const char *letter = strchr(letters, handles[i]);

		if (letter && unknown(classes[letter - letters], a[i]))
			return true;
	}
	if (strstr(real_functions[index].name, "_free") && a[0]) {
		uint64_t handle = *(uint64_t *)a[0];

		return handle >> 56 == RDB_DYNAMIC >> 56 && (handle >> 48 & 0xff) < RDB_CLASSES &&
		       unknown(handle >> 48 & 0xff, (uint32_t)handle);
	}
	return false;
}

static const char *once_more(unsigned index, uint32_t nargs, const uint64_t *a, bool silent)
{
	const char *name = real_functions[index].name;

	int64_t rc;

	if (!silent && of_unknown(index, nargs, a))
		return NULL;
	host->waits(RDB_WAIT_TOGETHER, 0, 0);
	rc = (silent ? restart_silent_call : restart_call)(index, nargs, a);
	host->waits(RDB_WAIT_NOTHING, 0, 0);
	if (rc != MPI_SUCCESS)
		return restart_refuse(name, "it succeeded in the recording and fails now");
	return NULL;
}

static const char *recv_asked(const uint64_t *a, const struct rdb_note_recv *came)
{
	uint64_t number = order_next();

	if (came && came->order != number)
		return restart_refuse("MPI_Recv", "its receives are numbered differently in the log");
	return came ? order_receive_now((void *)a[0], (int)a[1], type_of(a[2]), comm_of(a[5]), came) : NULL;
}

static const char *asked(unsigned index, uint32_t nargs, const uint64_t *a, struct rdb_recorded *recorded)
{
	const char *name = real_functions[index].name;
	enum kind kind = kind_of(index);
	const struct rdb_note_recv *came = own_receive(recorded);

	about.n = 0;
	if (kind == ONE)
		about_requests((void **)a[0], 1);
	if (kind == MANY)
		about_requests((void **)a[1], count_of(a));
	if (!strcmp(is(name), "Recv"))
		return recv_asked(a, came);
	if ((recorded->result && !came) || not_redone(name))
		return NULL;
	if (order_collective(name))
		return order_own_operation(index, nargs, a) ? NULL : once_more(index, nargs, a, true);
	switch (kind) {
	case MAKES: recorded->made = !of_unknown(index, nargs, a); return once_more(index, nargs, a, false);
	case SENDS: return send_of(a, false, 0);
	case EXCHANGES: order_next(); return exchange(name, a, came, false);
	case POSTS_COLLECTIVE:
		return order_own_operation(index, nargs, a) ? NULL : order_collective_begin(index, nargs, a, false);
	case POSTS_COPY: recorded->made = true; return order_collective_begin(index, nargs, a, true);
	case TAKES: return came ? order_post_matched((void *)a[0], (int)a[1], type_of(a[2]), came->order) : NULL;
	case POSTS_MATCHED: order_message_asked(a[3]); return NULL;
	case FREES: order_persistent_freed(a[0]); return NULL;
	default: return NULL;
	}
}

/* ---- after it ---- */

static const char *posted(unsigned index, uint32_t nargs, const uint64_t *a)
{
	const char *name = real_functions[index].name;
	enum kind kind = kind_of(index);

	if (posts_exchange(name))
		return exchange_posted(name, a, false);
	switch (kind) {
	case POSTS_SEND: return send_of(a, false, order_request_id(a[6]));
	case POSTS_RECEIVE:
		return order_post((void *)a[0], (int)a[1], type_of(a[2]), rank_in((int)a[3]), tag_in((int)a[4]),
				  comm_of(a[5]));
	case POSTS_MATCHED: order_next(); return order_message_taken(a); /* counted as a posted receive (requests.c) */
	case PERSISTENT: order_persistent_made(name, a); return NULL;
	case STARTS: return order_persistent_started(name, a);
	case MATCHES: return order_message_matched(name, a);
	case POSTS_COLLECTIVE:
	case POSTS_COPY: order_collective_begun(a[nargs - 1]); return NULL;
	default: return NULL;
	}
}

static const char *answered(unsigned index, uint32_t nargs, const uint64_t *a, const struct rdb_recorded *recorded)
{
	enum kind kind = kind_of(index);
	void **upper = (void **)(kind == MANY ? a[1] : a[0]);
	const char *why = NULL;

	for (size_t i = 0; i < about.n; i++)
		if (about.ids[i] >= RDB_FIRST_DYNAMIC && rdb_id(RDB_REQUEST, upper[i]) != about.ids[i])
			order_sent(about.ids[i]);
	for (unsigned i = 0; !why && i < recorded->nreceived; i++)
		why = order_receive(&recorded->received[i]);
	for (unsigned i = 0; !why && i < recorded->ndone; i++)
		why = order_collective_done(recorded->done[i]);
	if (!why && kind == LOOKS && a[1] && *(int *)a[1])
		why = order_collective_done((uint32_t)a[0]);
	return why || recorded->result || not_redone(real_functions[index].name) ? why : posted(index, nargs, a);
}

/* ---- the end of the log ---- */

/* A call that the log does not answer.  Its receives are not needed, but other ranks may have got what it sends. */
static const char *unanswered(unsigned index, uint32_t nargs, const uint64_t *a)
{
	const char *name = real_functions[index].name;

	if (not_redone(name) || order_own_operation(index, nargs, a))
		return NULL;
	if (order_collective(name))
		return once_more(index, nargs, a, true);
	if (posts_exchange(name))
		return exchange_posted(name, a, true);
	switch (kind_of(index)) {
	case MAKES: return once_more(index, nargs, a, false);
	case SENDS:
	case POSTS_SEND: return send_of(a, true, ORDER_EXCHANGED);
	case EXCHANGES: return exchange(name, a, NULL, true);
	case STARTS: return order_persistent_started(name, a);
	case POSTS_COLLECTIVE: return order_collective_begin(index, nargs, a, false);
	case POSTS_COPY: return order_collective_begin(index, nargs, a, true);
	default: return NULL;
	}
}

static const char *end(void)
{
	int begun_once = 0, over = 0;

	PMPI_Initialized(&begun_once);
	PMPI_Finalized(&over);
	if (!begun_once || over)
		return NULL;
	order_pending_end();
	order_drain();
	return PMPI_Finalize() == MPI_SUCCESS ? NULL : "MPI_Finalize fails";
}

const char *plugin_expand(enum rdb_expand step, uint32_t fn, uint32_t nargs, const uint64_t *a,
			  struct rdb_recorded *recorded)
{
	unsigned index = fn & 0xffff;

	if (step == RDB_EXPAND_END)
		return end();
	if (step == RDB_EXPAND_RENAMED)
		return (a[1] >> 48 & 0xff) == RDB_REQUEST ? NULL : restart_renamed(a);
	if (index >= real_function_count || !real_functions[index].call)
		return restart_refuse("an MPI call", "not supported");
	if (large_call(index, a)) {
		static uint64_t large[TRANSLATION_ARGUMENTS]; /* the same types before the answer and after it */

		a = step == RDB_EXPAND_ANSWERED ? large : large_arguments(index, nargs, a, large);
	}
	switch (step) {
	case RDB_EXPAND_ASKED: return asked(index, nargs, a, recorded);
	case RDB_EXPAND_ANSWERED: return answered(index, nargs, a, recorded);
	default: return unanswered(index, nargs, a);
	}
}
