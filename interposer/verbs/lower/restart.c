/* Restarts.  While the log answers, the tables of objects follow the recorded calls.  At the cut a provider makes the
 * objects again, the ranks tell each other their new addresses, and requests under way are posted again.
 *
 * A plan (restart_plan.h) names these requests: those whose message the peer had not carried out completely at its own
 * cut, and those whose answer had not arrived.  Each is posted again once, whether or not either side has seen its
 * completion. */
#include "restart.h"
#include <stdio.h>
#include <unistd.h>

static void no_out(void *upper, size_t len) {}
static void no_note(enum rdb_note what, const void *data, size_t len) {}

static const char *begin(void)
{
	char path[4200];
	if (restart.begun)
		return NULL;
	restart.begun = true;
	restart.loud = host;
	restart.quiet = *host;
	restart.quiet.out = no_out;
	restart.quiet.note = no_note;
	host = &restart.quiet;
	snprintf(restart.folder, sizeof(restart.folder), "%s/..", host->branch);
	snprintf(path, sizeof(path), "%s/verbs-plan-%d", restart.folder, host->rank);
	return plan_read(path, &restart.plan);
}

const char *restart_join(void)
{
	char path[4200], folder[4096];
	struct plan plan = {0};
	snprintf(folder, sizeof(folder), "%s/..", host->dir);
	snprintf(path, sizeof(path), "%s/verbs-plan-%d", folder, host->rank);
	if (access(path, F_OK))
		return NULL;
	const char *why = plan_read(path, &plan);
	if (!provider)
		provider = restart_provider();
	return why || !plan.nranks ? why : numbers_learn(folder, plan.ranks, plan.nranks);
}

const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result)
{
	const char *why = begin();
	if (why)
		return why;
	switch (step) {
	case RDB_RESTART_BEGIN: return restart_load((const char *)a[0]);
	case RDB_RESTART_ASKED: return restart_asked(fn & 0xffff, a, *result);
	case RDB_RESTART_ANSWERED: restart_answered(fn & 0xffff, a, *result); return NULL;
	case RDB_RESTART_CUT: return restart_cut();
	default: return "one of its verbs messages is under way";
	}
}
