/* The program's MPI objects, saved beside an image and made again in a restart.  Not the calls that made them are saved
 * but their state, as the real MPI reports it.  So nothing has to be recorded while the program runs, and freed objects
 * are not saved.  Numbers are independent of the MPI (ids, ranks in MPI_COMM_WORLD, our own numbers of combiners),
 * since a restart may run over another one. */
#include "lower/checkpoint/coordinated_state.h"
#include "lower/checkpoint/coordinated_files.h"
#include "lower/core/error_codes.h"
#include "lower/core/wtime.h"

int state_save(void **bytes, size_t *len)
{
	struct bytes out = {0};
	int level = MPI_THREAD_SINGLE;

	PMPI_Query_thread(&level);
	put_number(&out, level == MPI_THREAD_MULTIPLE     ? 3
			 : level == MPI_THREAD_SERIALIZED ? 2
			 : level == MPI_THREAD_FUNNELED   ? 1
							  : 0);
	put_bytes(&out, tables_shown(), sizeof(struct rdb_predef_table));
	put_number(&out, (int64_t)coordinated_counts[0]);
	put_number(&out, (int64_t)coordinated_counts[1]);
	put_number(&out, (int64_t)coordinated_salt);
	put_exchanges(&out);
	put_error_codes(&out);
	put_comms(&out);
	put_others(&out);
	put_windows(&out);
	put_files(&out);
	put_buffer(&out);
	put_requests(&out);
	put_generalized(&out);
	for (const struct drained *one = drained_first; one; one = one->next) {
		put_number(&out, true);
		put_drained(&out, one);
	}
	put_number(&out, false);
	put_messages(&out);
	put_number(&out, wtime_now());
	*bytes = out.base;
	*len = out.len;
	return 0;
}

static void get_requests(struct bytes *in)
{
	for (int64_t n = get_number(in); n > 0 && !in->bad; n--)
		get_request(in);
}

static void get_all_drained(struct bytes *in)
{
	while (!in->bad && get_number(in))
		drained_put(get_drained(in));
}

/* In the order of state_save(). */
static const struct {
	void (*get)(struct bytes *in);
	const char *what;
} parts[] = {
	{get_comms, "a communicator"},
	{get_others, "a group, a datatype, an operation or an info"},
	{get_windows, "a window"},
	{get_files, "a file"},
	{get_buffer, "the buffer of MPI_Buffer_attach"},
	{get_requests, "a request"},
	{get_generalized, "a generalized request"},
	{get_all_drained, "a message"},
	{get_messages, "a message of MPI_Mprobe"},
};

const char *state_load(const void *bytes, size_t len)
{
	static char text[160];
	static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
				     MPI_THREAD_MULTIPLE};
	struct bytes in = {.at = bytes, .end = (const char *)bytes + len};
	int64_t level = get_number(&in), sent, received;
	const struct rdb_predef_table *upper = get_bytes(&in, sizeof(*upper));
	struct rdb_predef_table shown;
	const char *why, *what = "";

	if (!upper)
		return "the state of MPI in the checkpoint is damaged";
	memcpy(&shown, upper, sizeof(shown));
	sent = get_number(&in);
	received = get_number(&in);
	coordinated_salt = (uint64_t)get_number(&in) + 1;
	get_exchanges(&in);
	get_error_codes(&in);
	why = life_again(levels[level & 3], &shown);
	if (why)
		return why;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !in.bad; i++) {
		what = parts[i].what;
		parts[i].get(&in);
	}
	if (!in.bad && in.at < in.end) {
		wtime_was(get_number(&in));
		wtime_go_on();
	}
	if (observer) {
		coordinated_counts[0] = (uint64_t)sent;
		coordinated_counts[1] = (uint64_t)received;
	}
	if (in.why)
		return in.why;
	if (in.bad)
		snprintf(text, sizeof(text), "%s that it has cannot be made again over %s", what, own_plugin->name);
	return in.bad ? text : NULL;
}
