/* Restarts.  While the log answers, the replay calls here, so that at the cut the real MPI has what the program made:
 * the same objects under the same handles, its pending requests, and the messages that were under way.  Calls that the
 * log has answered are not made again: no message that was received, no collective. */
#include <stdio.h>
#include "lower/core/wtime.h"
#include "lower/objects/large.h"
#include "lower/restart/ports.h"
#include "lower/restart/restart.h"
#include "lower/checkpoint/coordinated.h"
#include "lower/restart/restart_files.h"
#include "lower/objects/worlds.h"

enum { UNDEFINED = -32766 };  /* MPI_UNDEFINED of the canonical ABI */
enum { WORLD = 2, SELF = 3 }; /* ids */

static bool of_windows(const char *name)
{
	return strstr(name, "Win_") != NULL;
}

/* Whether the call is made again on the way to the cut. */
static bool makes(enum kind kind, const uint64_t *a)
{
	if (kind == FREES)
		return a[0] && request_at((void **)a[0])->persistent && !request_at((void **)a[0])->partitioned;
	return kind == MAKES || kind == JOINS || kind == PERSISTENT || kind == POSTS_COPY;
}

/* Communicators that are made again must have the same ranks as in the recording. */
static struct {
	char recorded[512], made[512]; /* comm_text() in the log and now; "": no communicator */
	const struct rdb_host *host;
} comms;

static void keep_comm(char *kept, const void *text, size_t len)
{
	size_t room = sizeof(comms.made) - 1;

	if (len < 5 || memcmp(text, "comm=", 5))
		return;
	memcpy(kept, text, len < room ? len : room);
	kept[len < room ? len : room] = 0;
}

static void keep_made(enum rdb_note what, const void *data, size_t len)
{
	if (what == RDB_NOTE_TEXT)
		keep_comm(comms.made, data, len);
	comms.host->note(what, data, len);
}

static bool other_ranks(void)
{
	const char *was = strstr(comms.recorded, " rank="), *is = strstr(comms.made, " rank=");

	return was && is && strcmp(was, is) != 0;
}

/* Other ranks may share a host now.  So MPI_Comm_split_type becomes an MPI_Comm_split into the recorded groups; the
 * color is the first rank of the group. */
static void split_as_recorded(uint64_t *a)
{
	int rank = 0, first = UNDEFINED;
	const char *ranks = strstr(comms.recorded, " rank=");

	if (ranks && sscanf(ranks, " rank=%d ranks=%d", &rank, &first) != 2)
		first = UNDEFINED;
	a[3] = a[4];
	a[1] = (uint64_t)(int64_t)first;
	a[2] = (uint64_t)(int64_t)rank;
}

static int64_t made_again(unsigned index, uint32_t nargs, const uint64_t *given, const uint64_t *joined)
{
	struct rdb_host listening = *host;
	uint64_t a[TRANSLATION_ARGUMENTS];
	int64_t result;

	memcpy(a, given, nargs * sizeof(*a));
	if (index == RDB_Comm_split_type) {
		index = RDB_Comm_split;
		nargs = 4;
		split_as_recorded(a);
	}
	if (joined) {
		index = RDB_Intercomm_create;
		nargs = 6;
		memcpy(a, joined, nargs * sizeof(*a));
	}
	/* before the call: it may change the program's handle of the object it frees */
	restart_journal_asked(index, nargs, a);
	comms.host = host;
	listening.note = keep_made;
	host = &listening;
	result = restart_call(index, nargs, a);
	host = comms.host;
	return result;
}

/* Arguments of the call that joins processes that this process has started or met: all of them exist already. */
static const uint64_t *joins(unsigned index, const uint64_t *a)
{
	switch (index) {
	case RDB_Comm_spawn: return worlds_join(comms.recorded, a[5], a[6]);
	case RDB_Comm_spawn_multiple: return worlds_join(comms.recorded, a[6], a[7]);
	case RDB_Comm_join: return worlds_join(comms.recorded, SELF, a[1]);
	default: return worlds_join(comms.recorded, a[3], a[4]);
	}
}

static const char *started_by(void)
{
	static void *handle;
	const uint64_t *joined = worlds_join(comms.recorded, WORLD, (uint64_t)&handle);

	if (!joined)
		return restart_refuse("MPI_Init", "the recording does not say which processes have spawned this one");
	restart_journal_asked(RDB_Intercomm_create, 6, joined);
	if (restart_silent_call(RDB_Intercomm_create, 6, joined))
		return restart_refuse("MPI_Init", restart_failed_here());
	restart_journal_answered();
	worlds_joined(RDB_Intercomm_create, joined, handle);
	return NULL;
}

static const char *leave(void)
{
	if (!restart_left)
		return NULL;
	restart_left = false;
	return real_Finalize(NULL) == MPI_SUCCESS ? NULL : restart_refuse("MPI_Finalize", restart_failed_here());
}

static const char *begin(const char *folder)
{
	const char *why = restart_journal_load(folder);

	if (!why)
		why = file_steps_load();
	return why ? why : restart_files_load(folder);
}

static const char *restart_step(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result)
{
	unsigned index = fn & 0xffff;
	const struct real_function *function = index < real_function_count ? &real_functions[index] : NULL;
	const char *cannot;
	enum kind kind;

	if (step == RDB_RESTART_CUT) {
		cannot = restart_files_cut((const char *)a[0]);
		if (!cannot)
			cannot = restart_journal_save((const char *)a[0]);
		if (!cannot)
			cannot = ports_cut();
		return cannot ? cannot : restart_cut();
	}
	if (step == RDB_RESTART_LIVE) {
		partitioned_restarted = true;
		wtime_go_on();
		return leave();
	}
	if (step == RDB_RESTART_BEGIN)
		return begin((const char *)a[0]);
	if (step == RDB_RESTART_SEND && !nargs)
		return restart_journal_send((unsigned)*result);
	if (step == RDB_RESTART_RENAME)
		return restart_renamed(a);
	if (step == RDB_RESTART_NOTED) {
		keep_comm(comms.recorded, (const void *)a[0], a[1]);
		return NULL;
	}
	if (!function || !function->call)
		return restart_refuse(function ? function->name : "an MPI call", "not supported");
	kind = restart_kind(function->name);
	switch (step) {
	case RDB_RESTART_SEND: return restart_message(index, nargs, kind, a, (unsigned)*result);
	case RDB_RESTART_ASKED:
		if (kind == UNKNOWN)
			return restart_refuse(function->name, "what it does cannot be brought back");
		cannot = restart_asked(function->name, kind, a);
		if (!cannot)
			cannot = restart_file_asked(function->name, kind, index, nargs, a, result);
		if (!cannot && !*result && of_windows(function->name))
			cannot = restart_window_asked(index, a);
		restart_left |= !cannot && !*result && kind == LEAVES;
		if (!cannot && !*result && (kind == LEAVES || kind == PORTS))
			restart_journal_asked(index, nargs, a);
		comms.made[0] = 0;
		if (!cannot && !*result && makes(kind, a)) {
			const uint64_t *joined = kind == JOINS ? joins(index, a) : NULL;

			if (kind == JOINS && !joined)
				return restart_refuse(function->name, "the recording does not say which processes it "
								      "connected");
			*result = 1 + made_again(index, nargs, a, joined);
			if (*result != 1)
				cannot = restart_refuse(function->name, restart_failed_here());
			else if (other_ranks())
				cannot = restart_refuse(function->name, "its ranks are not those of the recording");
			if (!cannot && (index == RDB_Init || index == RDB_Init_thread))
				cannot = file_steps_load();
			if (!cannot && (index == RDB_Init || index == RDB_Init_thread) && host->worlds &&
			    host->world_first)
				cannot = started_by();
		}
		comms.recorded[0] = 0;
		return cannot;
	default:
		restart_journal_answered();
		if (index == RDB_Wtime)
			wtime_was(*result);
		if (kind == PORTS && !*result)
			ports_followed(index, a);
		cannot = restart_answered(function->name, kind, index, nargs, a, *result);
		if (!cannot && !*result)
			cannot = restart_file_answered();
		if (!cannot && !*result && of_windows(function->name))
			cannot = restart_window_answered(index, nargs, a);
		return cannot;
	}
}

const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result)
{
	const char *cannot;

	worlds_again = true;
	cannot = restart_step(step, fn, nargs, a, result);
	worlds_again = false;
	return cannot;
}
