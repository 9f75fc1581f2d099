/* Writes logs with the writer of rdb-exec and reads them back after every record (test_log_rounds.py).
 *
 * Each line of standing input is a script, one character for each step:
 *   a-y  a call with that argument, answered as always;  A-Y  the same, with another answer each time
 *   z    a call with a note, as a receive has;  *  a system call, answered as always
 *   #    a hash, which is no event;  |  an image is taken here;  .  a pause before the next call
 *   <    fills the segment but for the room of a few records
 *   1-9  from here on it is this thread that calls
 *   >    the turns of the cycle are counted nearly up to 2^32: then only the index is looked at
 * It prints "ok EVENTS BYTES" or what is wrong with which event.  The log of the last script stays in argv[1].
 */
#include <asm/prctl.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "interface/gate.h"
#include "answer/instructions.h"
#include "text/counter_sites.h"
#include "log/log_index.h"
#include "log/log_segment.h"
#include "log/log_writer.h"
#include "log/stamp.h"
#include "base/descriptors.h"
#include "task/thread.h"

enum { LONGEST = 1 << 16, LITTLE = 400 };

static const struct mode records = {.records = true};
struct lower lower = {.mode = &records};
bool counter_must_trap;
unsigned counter_sites_count;
static struct thread self = {.upper.number = 1};
static struct {
	uint64_t word, event;
	uint32_t nr, thread;
} wanted[LONGEST];
static size_t events;

int lower_fd(int fd)
{
	return fd;
}

int descriptor_open(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = openat(dirfd, path, flags, mode);
	return fd < 0 ? -errno : fd;
}

void rdb_warn(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	exit(2);
}

static void clear(const char *dir)
{
	char path[4096];
	for (unsigned i = 0; i < 10; i++) {
		snprintf(path, sizeof(path), "%s/log-%06u.seg", dir, i);
		unlink(path);
	}
}

static int append(struct event *ev, uint64_t number)
{
	int rc = log_append(ev, number);
	if (rc)
		rdb_warn("log_append: %s\n", strerror(-rc));
	return rc;
}

/* Some large record leaves no more than LITTLE bytes. */
static void fill(uint64_t number)
{
	static char text[1 << 20];
	size_t room = log_.len - LOG_END_ROOM - log_.off;
	struct event_chunk chunk = {.data = text, .note = RDB_NOTE_TEXT};
	struct event ev = {.kind = LOG_FILE, .nchunks = 1, .chunks = &chunk};
	while (room > LITTLE + sizeof(text)) {
		chunk.len = sizeof(text) / 2;
		append(&ev, number);
		room = log_.len - LOG_END_ROOM - log_.off;
	}
	if (room > LITTLE) {
		chunk.len = (uint32_t)(room - LITTLE);
		append(&ev, number);
	}
}

/* As if its turns had come: of 2^32 nobody waits for the end. */
static void counts_on(void)
{
	struct log_cycle *c = (void *)(log_.base + log_.cycle.at);
	if (!log_.cycle.at)
		rdb_warn("there is no cycle\n");
	const uint32_t more = (UINT32_MAX - 2 - c->count) / c->period * c->period;
	c->count += more;
	c->not_count = ~c->count;
	lower.event += more;
}

static void step(char what)
{
	static uint64_t differs = 1000, begun;
	static bool pause;
	uint64_t answer = 7;
	struct event_chunk chunk = {.addr = 0x101000001000, .data = &answer, .len = sizeof(answer)};
	struct event ev = {
		.kind = LOG_HYPERCALL, .nr = RDB_FN(RDB_NS_MPI, 3), .nargs = 2, .nchunks = 1, .chunks = &chunk};
	switch (what) {
	case '#': ev = (struct event){.kind = LOG_HASH}; break;
	case '|': {
		uint32_t segment;
		uint64_t off;
		log_position(&segment, &off);
		return;
	}
	case '.': pause = true; return;
	case '<': fill(lower.event); return;
	case '>': counts_on(); return;
	case '1' ... '9': self.upper.number = (uint32_t)(what - '0'); return;
	case '*':
		ev.kind = LOG_SYSCALL;
		ev.nr = 1;
		break;
	case 'z':
		chunk.addr = 0;
		chunk.note = RDB_NOTE_DONE;
		break;
	}
	if (ev.kind == LOG_HASH) {
		append(&ev, lower.event);
		return;
	}
	if (isupper(what))
		answer = differs++;
	ev.args[0] = (uint64_t)tolower(what);
	ev.args[1] = 0x1234;
	begun = (begun ? begun : stamp_begin()) + (pause ? 1ul << 24 : 1); /* however slow this machine is */
	ev.begun = begun;
	pause = false;
	wanted[events].word = ev.args[0] | answer << 8;
	wanted[events].nr = ev.nr;
	wanted[events].thread = self.upper.number;
	wanted[events++].event = ++lower.event;
	append(&ev, lower.event);
}

static bool is_wanted(const struct log_record *rec, size_t i)
{
	uint64_t answer;
	const struct log_chunk *c = log_chunk_next(rec, NULL);
	if (i >= events || !c || c->len != sizeof(answer) || rec->nargs != 2 || rec->thread != wanted[i].thread)
		return false;
	memcpy(&answer, c + 1, sizeof(answer));
	return (log_args(rec)[0] | answer << 8) == wanted[i].word && rec->nr == wanted[i].nr;
}

/* All of it, with a look at the record before each, which has to be there still.  NULL or what is wrong. */
static const char *reads_back(const char *dir, size_t *at)
{
	static struct log_reader r;
	const struct log_record *rec, *before = NULL;
	size_t i = 0;
	uint64_t last = 0;
	if (log_reader_open(&r, dir))
		return r.error;
	const char *wrong = NULL;
	while (!wrong && (rec = log_reader_next(&r))) {
		if (before && (!is_wanted(before, i - 1) || before->event + before->repeat != wanted[i - 1].event))
			wrong = "a record changes when another is read";
		before = NULL;
		if (!LOG_IS_EVENT(rec->kind))
			continue;
		if (rec->at_ns < last)
			wrong = "time goes back";
		last = rec->at_ns;
		for (uint32_t k = 0; !wrong && k <= rec->repeat; k++, i++)
			if (!is_wanted(rec, i) || rec->event + k != wanted[i].event)
				wrong = "another event";
		before = rec;
	}
	*at = i;
	if (!wrong && r.error[0])
		wrong = r.error;
	if (!wrong && i != events)
		wrong = "events are missing";
	log_reader_close(&r);
	return wrong;
}

/* What is read on is as if it were read anew. */
static const char *reads_on(const char *dir, struct log_place *place, struct log_entry **known, size_t *count,
			    size_t *room)
{
	struct log_place anew;
	struct log_entry *entries;
	size_t n, some;
	char error[256];
	int rc = *known ? log_index_more(dir, place, *known, count, *room, error)
			: log_index_begin(dir, 0, place, known, count, room, error);
	while (rc == -ENOSPC) {
		struct log_entry *more = log_index_copy(*known, *count, *room *= 2);
		log_index_free(*known);
		*known = more;
		rc = log_index_more(dir, place, *known, count, *room, error);
	}
	if (rc)
		return "it cannot be read on";
	if (log_index_begin(dir, 0, &anew, &entries, &n, &some, error))
		return "its index cannot be made";
	const bool same = n == *count && !memcmp(entries, *known, n * sizeof(*entries));
	log_index_free(entries);
	return same ? NULL : "what is read on is not what is read anew";
}

static void play(const char *dir, const char *script, bool each)
{
	struct log_place place;
	struct log_entry *known = NULL;
	size_t count = 0, room = 0, at = 0;
	const char *wrong = NULL;
	clear(dir);
	events = 0;
	self.upper.number = 1;
	lower.event = 0;
	if (log_.base ? log_reopen(dir) : log_open(dir))
		rdb_warn("%s: no log\n", dir);
	for (const char *s = script; *s && *s != '\n' && !wrong; s++) {
		step(*s);
		if (!each && s[1] && s[1] != '\n')
			continue;
		if (!memchr(script, '>', (size_t)(s - script) + 1))
			wrong = reads_back(dir, &at);
		if (!wrong)
			wrong = reads_on(dir, &place, &known, &count, &room);
	}
	log_index_free(known);
	if (wrong)
		printf("%s: event %zu: %s\n", script, at + 1, wrong);
	else
		printf("ok %zu %lu\n", events, (unsigned long)log_written());
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static char line[LONGEST];
	if (argc < 2 || syscall(SYS_arch_prctl, ARCH_SET_GS, &self))
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		play(argv[1], line, argc > 2);
	}
	return 0;
}
