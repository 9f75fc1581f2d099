#include "crossing/piling.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include "space/cautions.h"
#include "crossing/source.h"

enum {
	EACH = 4096,
	FIRST_TOLD = 4000000,
	KINDS = 6, /* more are no polling loop */
};

uint64_t piling_next = EACH;

static struct {
	uint64_t from, told; /* from: the first event of the row, 0: there is none */
	struct {
		uint16_t kind;
		uint32_t nr;
		uint64_t n;
		char name[32];
	} kinds[KINDS];
} row;

void piling_begin(void)
{
	piling_next = EACH;
	row.from = 0;
}

/* Is it the call of a thread that waits, or that releases a lock? */
static bool waits(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_futex:
	case SYS_sched_yield:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_clock_gettime:
	case SYS_gettimeofday:
	case SYS_time: return true;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2: return ev->result == 0;
	default: return ev->result == -EAGAIN;
	}
}

/* The answer to a poll is a flag or an index.  Notes mean messages. */
static bool found_nothing(const struct event *ev)
{
	for (unsigned i = 0; i < ev->nchunks; i++)
		if (ev->chunks[i].addr ? ev->chunks[i].len > 8 : ev->chunks[i].note != RDB_NOTE_SENT)
			return false;
	return true;
}

static bool polls(const char *name)
{
	static const char *const polls[] = {"MPI_Test",     "MPI_Iprobe",  "MPI_Improbe",    "MPI_Request_get_status",
					    "MPI_Parrived", "ibv_poll_cq", "a clock reading"};
	for (unsigned i = 0; i < sizeof(polls) / sizeof(*polls); i++)
		if (!strncmp(name, polls[i], strlen(polls[i])))
			return true;
	return false;
}

/* Counts the event.  False: it may have brought or sent something. */
static bool brought_nothing(const struct event *ev)
{
	const bool turn = ev->kind == LOG_PREEMPT || ev->kind == LOG_RESUME, call = ev->kind == LOG_HYPERCALL;
	if (!turn && ev->kind != LOG_TSC && !(ev->kind == LOG_SYSCALL && waits(ev)) && !(call && found_nothing(ev)))
		return false;
	for (unsigned i = 0; i < KINDS; i++) {
		const bool new = !row.kinds[i].n;
		if (new) {
			row.kinds[i].kind = ev->kind;
			row.kinds[i].nr = ev->nr;
			source->name(ev->kind, ev->nr, row.kinds[i].name, sizeof(row.kinds[i].name));
		}
		if (row.kinds[i].kind != ev->kind || row.kinds[i].nr != ev->nr)
			continue;
		if (new &&call && !polls(row.kinds[i].name))
			return false;
		row.kinds[i].n++;
		return true;
	}
	return false;
}

static void tell(uint64_t number)
{
	char text[512];
	size_t n = (size_t)snprintf(text, sizeof(text), "%lu events in a row that received nothing and sent nothing: ",
				    (unsigned long)(number - row.from + 1));
	for (unsigned i = 0; i < KINDS && row.kinds[i].n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s (%lu)", i ? ", " : "", row.kinds[i].name,
				      (unsigned long)row.kinds[i].n);
	caution_events(row.from, number, text);
	rdb_warn("%s: %s; rdb attach shows where the threads of the running program are; rdb run --log-budget 500MB "
		 "ends a recording at that size",
		 lower.opt.dir, text);
}

void piling_look(const struct event *ev, uint64_t number)
{
	if (!row.from)
		memset(&row, 0, sizeof(row));
	if (!brought_nothing(ev)) {
		row.from = 0;
		piling_next = number + EACH;
		return;
	}
	if (!row.from) {
		row.from = number;
		row.told = FIRST_TOLD / 2;
	}
	piling_next = number + 1;
	if (number - row.from + 1 < 2 * row.told)
		return;
	row.told *= 2;
	tell(number);
}
