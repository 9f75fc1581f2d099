/* What the program has in MPI, written down beside an image and made again below one: not the calls that made it, but
 * what it is now, as the real MPI tells it.  So nothing is kept while the program runs, and what it has freed is
 * nowhere.  Numbers are the program's (ids, ranks in MPI_COMM_WORLD, combiners counted here), since the MPI
 * of the restart may be another one. */
#include "together_bytes.h"
#include "together_files.h"

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
	put_number(&out, (int64_t)together_counts[0]);
	put_number(&out, (int64_t)together_counts[1]);
	put_number(&out, (int64_t)together_salt);
	put_exchanges(&out);
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
	*bytes = out.base;
	*len = out.len;
	return 0;
}

const char *state_load(const void *bytes, size_t len)
{
	static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
				     MPI_THREAD_MULTIPLE};
	struct bytes in = {.at = bytes, .end = (const char *)bytes + len};
	int64_t level = get_number(&in), sent, received;
	const struct rdb_predef_table *upper = get_bytes(&in, sizeof(*upper));
	struct rdb_predef_table shown;
	const char *why;

	if (!upper)
		return "what it had in MPI is damaged";
	memcpy(&shown, upper, sizeof(shown));
	sent = get_number(&in);
	received = get_number(&in);
	together_salt = (uint64_t)get_number(&in) + 1;
	get_exchanges(&in);
	why = plugin_alive(levels[level & 3], &shown);
	if (why)
		return why;
	get_comms(&in);
	if (!in.bad)
		get_others(&in);
	if (!in.bad)
		get_windows(&in);
	if (!in.bad)
		get_files(&in);
	if (!in.bad)
		get_buffer(&in);
	for (int64_t n = in.bad ? 0 : get_number(&in); n > 0 && !in.bad; n--)
		get_request(&in);
	if (!in.bad)
		get_generalized(&in);
	while (!in.bad && get_number(&in))
		drained_put(get_drained(&in));
	if (!in.bad)
		get_messages(&in);
	if (together_on) {
		together_counts[0] = (uint64_t)sent;
		together_counts[1] = (uint64_t)received;
	}
	if (in.why)
		return in.why;
	return in.bad ? "an object that it had in MPI cannot be made again" : NULL;
}
