/* Libraries below the gate, on the way to a cut: they are told of each recorded call, and make again what has to exist
 * when the program goes on. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "crossing/boundary.h"
#include "restart/base/launcher_fd.h"
#include "restart/live/live.h"
#include "log/log_reader.h"
#include "base/descriptors.h"
#include "replay/replay.h"
#include "text/traps.h"

static struct {
	bool begun;
	FILE *list; /* events whose messages were under way, in order */
	uint64_t next;
	unsigned which; /* which of the messages that the event sent */
} libraries;

static void next_in_flight(void)
{
	unsigned long event;
	bool another = libraries.list && fscanf(libraries.list, "%lu %u", &event, &libraries.which) == 2;
	libraries.next = another ? event : UINT64_MAX;
}

static void begin(void)
{
	if (libraries.begun)
		return;
	libraries.begun = true;
	/* the program's numbers are not the library's */
	int rc = replay_descriptors_high();
	if (!rc)
		rc = descriptors_reserve();
	if (rc)
		live_refuse("no descriptors for the MPI library: %s", strerror(-rc));
	if (lower.opt.in_flight) {
		libraries.list = fopen(lower.opt.in_flight, "re");
		if (!libraries.list)
			live_refuse("%s cannot be read", lower.opt.in_flight);
	}
	next_in_flight();
}

static int64_t told(enum rdb_restart step, const struct event *ev, int64_t result)
{
	traps_set(false);
	const char *why = host_restart(step, ev->nr, ev->nargs, ev->args, &result);
	traps_set(true);
	if (why)
		live_refuse("%s", why);
	return result;
}

/* The objects that were made again get the handles that the program knows. */
static void compare(const struct event *ev, const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		if (!c->addr || c->len % 8)
			continue;
		for (uint32_t at = 0; at < c->len; at += 8) {
			struct event two = {.nr = ev->nr, .nargs = 2};
			memcpy(&two.args[0], (const void *)(c->addr + at), 8);
			memcpy(&two.args[1], (const uint8_t *)(c + 1) + at, 8);
			if (two.args[0] != two.args[1])
				told(RDB_RESTART_RENAME, &two, 0);
		}
	}
}

/* Passes on what the recording said of the objects that the call made. */
static void tell_notes(const struct event *ev, const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		struct event text = {.nr = ev->nr, .nargs = 2, .args = {(uintptr_t)(c + 1), c->len}};

		if (!c->addr && c->note == RDB_NOTE_TEXT)
			told(RDB_RESTART_NOTED, &text, 0);
	}
}

void live_hypercall_asked(const struct event *ev)
{
	const struct log_record *rec = replay_next_record();
	if (ev->nr >> 16 == RDB_NS_CORE || !rec || rec->kind != LOG_HYPERCALL || rec->nr != ev->nr)
		return; /* the replay says what is wrong */
	begin();
	if (ev->nr >> 16 == RDB_NS_MPI)
		tell_notes(ev, rec);
	int64_t made = told(RDB_RESTART_ASKED, ev, rec->result);
	if (made != rec->result && made != 1 + rec->result)
		live_refuse("the call of event %lu succeeded in the recording and fails now",
			    (unsigned long)rec->event);
	if (made != rec->result)
		compare(ev, rec);
	while (libraries.next == lower.event + 1) {
		told(RDB_RESTART_SEND, ev, libraries.which);
		next_in_flight();
	}
}

void live_hypercall_answered(const struct event *ev)
{
	if (ev->nr >> 16 != RDB_NS_CORE)
		told(RDB_RESTART_ANSWERED, ev, ev->result);
}

static bool had(const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", lower.opt.restart, name);
	return !access(path, F_OK);
}

/* A branch begins with the objects that it had in MPI and verbs. */
void live_libraries_begin(void)
{
	const struct event mpi = {.nr = RDB_NS_MPI << 16, .nargs = 1, .args = {(uint64_t)lower.opt.restart}};
	const struct event verbs = {.nr = RDB_NS_VERBS << 16, .nargs = 1, .args = {(uint64_t)lower.opt.restart}};
	const struct event send = {.nr = RDB_NS_MPI << 16};
	const bool in_mpi = had("mpi-objects"), in_verbs = had("verbs-objects");
	launcher_fd_hide(); /* MPI may begin only after the cut */
	if (!in_mpi && !in_verbs)
		return;
	begin();
	if (in_mpi)
		told(RDB_RESTART_BEGIN, &mpi, 0);
	while (in_mpi && libraries.next == 0) {
		told(RDB_RESTART_SEND, &send, libraries.which);
		next_in_flight();
	}
	if (in_verbs)
		told(RDB_RESTART_BEGIN, &verbs, 0);
	traps_set(false); /* until the program runs */
}

void live_libraries_cut(void)
{
	const struct event cuts[] = {{.nr = RDB_NS_MPI << 16, .nargs = 1, .args = {(uint64_t)lower.opt.branch}},
				     {.nr = RDB_NS_VERBS << 16}};
	for (unsigned i = 0; libraries.begun && i < sizeof(cuts) / sizeof(*cuts); i++)
		told(RDB_RESTART_CUT, &cuts[i], 0);
	if (libraries.list)
		fclose(libraries.list);
}

void live_libraries_go(void)
{
	const struct event go = {.nr = RDB_NS_MPI << 16};
	if (libraries.begun)
		told(RDB_RESTART_LIVE, &go, 0);
}
