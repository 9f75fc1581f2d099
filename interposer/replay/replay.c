#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "arch/context.h"
#include "arch/registers.h"
#include "interface/agent.h"
#include "space/arena.h"
#include "space/ends.h"
#include "crossing/boundary.h"
#include "space/sent.h"
#include "replay/call_names.h"
#include "replay/deliver.h"
#include "replay/divergence.h"
#include "replay/expand.h"
#include "replay/payload.h"
#include "log/log_reader.h"
#include "marks/mark.h"
#include "replay/replay.h"
#include "replay/replica.h"
#include "task/thread.h"
#include "answer/unknown_maps.h"
#include "space/shared_kinds.h"
#include "answer/shared_calls.h"
#include "base/descriptors.h"

static struct {
	struct log_reader reader;
	const struct log_record *next;    /* the next event's record, END, or NULL at the end */
	const struct log_record *present; /* the record last applied */
	const struct log_record *asked;   /* before `next`, LOG_ASKED: what a thread hands out with a later event */
	uint64_t opened_ns;               /* time of the last record before the image; 0: unknown */
	uint32_t done;                    /* repetitions of `next` already answered */
	uint64_t last_event, begun_ns, before_ns;
	uint32_t end_kind;
	int32_t end_value;
	uint64_t hashes, last_hash;
	uint64_t agreed;   /* event of the last hash that agreed */
	uint64_t diverged; /* event at which the divergence was seen, if `located` */
	bool located;
	bool changed;                   /* the user changed the program: what it hands out is not compared any more */
	const struct log_record *final; /* the hash at the end, if there is one */
	struct mark mark;               /* of `next`, if that is a PREEMPT */
	struct agent_asked question;    /* to which the log has no answer; kind 0: none so far */
} replay;

static void finish(bool ok, const char *what) __attribute__((noreturn));

/* --verify: one JSON line on stdout. */
static void finish(bool ok, const char *what)
{
	char line[2048];
	if (lower.mode->refuse)
		lower.mode->refuse(what ? what : "its recording ends before that event");
	if (lower.opt.expand)
		expand_end(ok ? NULL : what);
	int n = snprintf(line, sizeof(line), "{\"ok\":%s,\"events\":%lu,\"hashes\":%lu,\"hash\":\"%#lx\"",
			 ok ? "true" : "false", (unsigned long)lower.event, (unsigned long)replay.hashes,
			 (unsigned long)replay.last_hash);
	if (what && (size_t)n < sizeof(line)) {
		n += snprintf(line + n, sizeof(line) - (size_t)n, ",\"what\":\"");
		for (; *what && (size_t)n < 900; what++) {
			if (*what == '"' || *what == '\\')
				line[n++] = '\\';
			line[n++] = *what >= ' ' ? *what : ' ';
		}
		line[n++] = '"';
	}
	if (!ok)
		n += (int)divergence_json(replay.located ? replay.diverged : lower.event, line + n,
					  sizeof(line) - (size_t)n - 4);
	n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
	raw_syscall(SYS_write, 1, (long)line, n, 0, 0, 0);
	_exit(ok ? 0 : 5);
}

void replay_damaged(const char *what)
{
	if (verifying())
		finish(false, what);
	rdb_warn("%s", what);
	_exit(5);
}

static void damaged(void)
{
	if (verifying())
		finish(false, replay.reader.error);
	rdb_warn("%s: %s", lower.opt.dir, replay.reader.error);
	_exit(5);
}

/* Context of a program that stands before a call which is not in the log.  Registers that the crossing overwrites are
 * lost (rcx and r11; in a hypercall all but the callee-saved ones).  To see them, go to the position again. */
static ucontext_t *before_crossing(void)
{
	static ucontext_t uc;
	static struct context vectors __attribute__((aligned(64)));
	struct thread *self = thread_self();
	self->state = THREAD_ASKS;
	if (self->frame && self->came_back == self->frame)
		thread_context_after_upcall(self, &uc);
	else
		thread_context(self, &uc);
	if (!uc_vectors(&uc))
		context_own_vectors(&uc, &vectors, &uc);
	return &uc;
}

void replay_diverged(ucontext_t *uc, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	const char *seen = shared_suspicion(replay.next, replay.agreed);
	if (n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, "%s", *seen ? seen : divergence_unknown());
	if (!replay.located)
		replay.diverged = lower.event + 1;
	replay.located = true;
	if (verifying())
		finish(false, text);
	lower.mode->at_divergence(uc ? uc : before_crossing(), text);
}

/* The next record; NULL at the end.  What a program that still runs has logged after lower.opt.until does not count. */
static const struct log_record *advance(void)
{
	const struct log_record *rec = log_reader_next(&replay.reader);
	if (!rec && replay.reader.error[0])
		damaged();
	return rec && rec->event > lower.opt.until ? NULL : rec;
}

/* Is the next event one more repetition of the same answer? */
static bool repeats(void)
{
	return replay.next && LOG_IS_EVENT(replay.next->kind) && replay.done <= replay.next->repeat;
}

static void check_hash(const struct log_record *rec)
{
	if (!verifying())
		return;
	uint64_t hash = arena_hash();
	replay.hashes++;
	replay.last_hash = hash;
	divergence_hash(rec);
	if (hash == (uint64_t)rec->result) {
		replay.agreed = rec->event;
		return;
	}
	divergence_in_memory();
	replay.diverged = rec->event;
	replay.located = true;
	replay_diverged(NULL, "memory differs at %s %lu (it agreed at %lu): recorded hash %#lx, replayed %#lx",
			rec->nr == LOG_HASH_AT_END ? "the end, after event" : "event", (unsigned long)rec->event,
			(unsigned long)replay.agreed, (unsigned long)rec->result, (unsigned long)hash);
}

static void load_mark(const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));)
		if (!c->addr && ((c->note == RDB_NOTE_MARK && mark_load(&replay.mark, c + 1, c->len) == 0) ||
				 (c->note == RDB_NOTE_COUNTED && mark_load_counted(&replay.mark, c + 1, c->len) == 0)))
			return;
	replay_diverged(NULL, "event %lu: the log lacks the position of a thread switch", (unsigned long)rec->event);
}

void replay_look_ahead(void)
{
	if (repeats() && replay.next->event + replay.done <= lower.opt.until)
		return;
	if (repeats()) {
		replay.next = NULL;
		return;
	}
	replay.done = 0;
	replay.asked = NULL;
	while ((replay.next = advance()) && !LOG_IS_EVENT(replay.next->kind) && replay.next->kind != LOG_END)
		if (replay.next->kind == LOG_HASH && replay.next->nr == LOG_HASH_AT_END)
			replay.final = replay.next;
		else if (replay.next->kind == LOG_ASKED)
			replay.asked = replay.next;
		else if (replay.next->kind == LOG_ENDS)
			ends_recorded(replay.next);
		else if (replay.next->kind == LOG_HASH)
			check_hash(replay.next);
	const bool preempt = replay.next && replay.next->kind == LOG_PREEMPT;
	if (preempt)
		load_mark(replay.next);
	mark_count_begin(preempt ? &replay.mark : NULL);
	/* The program may never ask for more, if it was killed in a loop: nothing is left to compare. */
	if (verifying() && !lower.opt.restart && !replay.final && (!replay.next || replay.next->kind == LOG_END) &&
	    !(lower.opt.deliver && deliver_more())) {
		if (!lower.opt.expand)
			finish(true, NULL);
		expand_whole(); /* but other ranks may need the program's next call */
	}
}

const struct log_record *replay_next_record(void)
{
	return replay.next;
}

/* Is the record just read before that place? */
static bool before(const struct log_reader *r, unsigned segment, uint64_t off)
{
	return r->segment < segment || (r->segment == segment && r->off <= off);
}

int replay_open(unsigned segment, uint64_t off)
{
	int rc = log_reader_open(&replay.reader, lower.opt.dir);
	if (rc) {
		rdb_warn("%s", replay.reader.error);
		return rc;
	}
	rc = log_reader_seek(&replay.reader, segment, off);
	/* what the recording holds from here on; the agent tells the server */
	const struct log_record *rec;
	replay.last_event = lower.event;
	while (!rc && (rec = advance())) {
		if (LOG_IS_EVENT(rec->kind) && !replay.begun_ns)
			replay.begun_ns = rec->at_ns;
		if (before(&replay.reader, segment, off) && rec->at_ns)
			replay.opened_ns = rec->at_ns;
		if (LOG_IS_EVENT(rec->kind))
			replay.last_event = rec->event + rec->repeat < lower.opt.until ? rec->event + rec->repeat
										       : lower.opt.until;
		else if (rec->kind == LOG_HASH && verifying() && before(&replay.reader, segment, off))
			divergence_hash(rec);
		else if (rec->kind == LOG_END) {
			replay.end_kind = rec->nr;
			replay.end_value = (int32_t)rec->result;
		}
	}
	if (!rc)
		rc = log_reader_seek(&replay.reader, segment, off);
	if (rc)
		rdb_warn("%s", replay.reader.error);
	else
		replay_look_ahead();
	return rc;
}

void replica_until(uint64_t event, uint32_t end_kind, int32_t end_value)
{
	lower.opt.until = replay.last_event = event;
	replay.end_kind = end_kind;
	replay.end_value = end_value;
	if (!replay.next)
		replay_look_ahead();
}

void replica_changed(void)
{
	replay.changed = true;
}

uint64_t replay_begun_ns(void)
{
	return replay.begun_ns;
}

uint64_t replay_now_ns(void)
{
	return replay.present ? replay.present->at_ns : replay.begun_ns;
}

uint64_t replay_before_ns(void)
{
	return replay.before_ns;
}

int replay_descriptors_high(void)
{
	replay.reader.dirfd = lower_fd(replay.reader.dirfd);
	replay.reader.fd = lower_fd(replay.reader.fd);
	return replay.reader.dirfd < 0 ? replay.reader.dirfd : replay.reader.fd < 0 ? replay.reader.fd : 0;
}

void replay_close(void)
{
	replay.next = replay.present = replay.asked = NULL;
	log_reader_close(&replay.reader);
}

void replica_info(struct replica_info *out)
{
	*out = (struct replica_info){
		.last_event = replay.last_event,
		.entry = lower.upper.entry,
		.auxv_addr = lower.upper.auxv_addr,
		.auxv_len = lower.upper.auxv_len,
		.interp_base = lower.upper.interp_base,
		.end_kind = replay.end_kind,
		.end_value = replay.end_value,
	};
}

static bool at_end(void)
{
	return !replay.next || replay.next->kind == LOG_END;
}

static void keep_question(const struct event *ev)
{
	struct agent_asked *q = &replay.question;

	*q = (struct agent_asked){.kind = ev->kind, .nr = ev->nr, .thread = thread_self()->upper.number};
	q->nargs = ev->nargs < AGENT_ASKED_ARGS ? ev->nargs : AGENT_ASKED_ARGS;
	memcpy(q->args, ev->args, q->nargs * sizeof(q->args[0]));
}

bool replica_asked(struct agent_asked *out)
{
	*out = replay.question;
	return at_end() && out->kind;
}

uint64_t replica_interval_ns(void)
{
	const uint64_t from_ns = replay.present ? replay.present->at_ns : replay.opened_ns;
	if (!from_ns || !replay.next || !serving()) /* --verify has patience.h */
		return UINT64_MAX;
	return replay.next->at_ns > from_ns ? replay.next->at_ns - from_ns : 0;
}

void replica_mark_missed(ucontext_t *uc, uint64_t spent_ns)
{
	replay_diverged(
		uc,
		"event %lu: the replay does not reach the recorded stop at %#lx, in the middle of a computation, "
		"within %lu s of computing",
		(unsigned long)lower.event + 1, (unsigned long)replay.mark.pc, (unsigned long)(spent_ns / 1000000000u));
}

void replay_ended(ucontext_t *uc)
{
	if (verifying()) {
		if (replay.final)
			check_hash(replay.final);
		finish(true, NULL);
	}
	lower.mode->at_end(before_crossing(), replay.end_kind, replay.end_value);
}

void replay_exits(int code, ucontext_t *uc)
{
	turns_await(uc);
	divergence_crossing(uc);
	const struct log_record *rec = replay.next;
	if (!at_end()) {
		char call[64];
		call_name(rec->kind, rec->nr, call, sizeof(call));
		replay_diverged(uc, "event %lu: recorded %s, replayed an exit with %d", (unsigned long)lower.event + 1,
				call, code);
	} else if (rec && rec->nr == LOG_END_EXIT && rec->result != code)
		replay_diverged(uc, "after event %lu: the exit code was %ld, is %d", (unsigned long)lower.event,
				(long)rec->result, code);
	replay_ended(uc);
}

void replay_fault(int sig, siginfo_t *info, ucontext_t *uc)
{
	const struct log_record *rec = replay.next;
	bool recorded = rec && rec->kind == LOG_END && rec->nr == LOG_END_SIGNAL && rec->result == sig;
	if (verifying() && recorded && replay.final)
		check_hash(replay.final);
	if (verifying())
		finish(recorded, recorded ? NULL : "the program faults where the recording goes on");
	lower.mode->at_fault(sig, info, uc);
}

static void apply_chunks(const struct log_record *rec)
{
	/* calls that map memory do that once it is mapped */
	const struct event ev = {.kind = rec->kind, .nr = rec->nr};
	bool mapped = false;
	if (!shared_call_changes_map(&ev))
		shared_aliases_recorded();
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		const struct rdb_note_payload *payload = payload_of(c);
		const char *why = payload && !lower.opt.expand ? payload_apply(payload) : NULL;
		if (why)
			replay_diverged(NULL, "event %lu: %s", (unsigned long)lower.event, why);
		if (!c->addr && c->note == RDB_NOTE_BACK)
			ends_back((const uint64_t *)(c + 1));
		if (!c->addr && c->note == RDB_NOTE_MAPPED) {
			unknown_maps_recorded(c);
			mapped = true;
		}
		if (!c->addr)
			continue;
		if (c->addr >= RDB_SCRATCH && c->addr < RDB_SCRATCH_END)
			host_scratch_upto(c->addr + c->len);
		if (c->note == RDB_NOTE_SHARED)
			shared_apply(c->addr, c + 1, c->len);
		else if (c->note == RDB_NOTE_FORCED)
			shared_force(c->addr, c + 1, c->len);
		else
			memcpy((void *)c->addr, c + 1, c->len);
	}
	if (mapped)
		unknown_maps_protect(rec);
}

bool replay_wrote(uint64_t addr, uint64_t len)
{
	for (const struct log_chunk *c = NULL; replay.present && (c = log_chunk_next(replay.present, c));) {
		const struct rdb_note_payload *payload = payload_of(c);
		const uint64_t at = payload ? payload_address(payload) : c->addr,
			       end = at + (payload ? payload->len : c->len);
		if (at && at < addr + len && addr < end)
			return true;
	}
	return false;
}

static const struct log_record *take(enum log_kind kind, uint32_t nr, ucontext_t *uc)
{
	const struct log_record *rec = replay.next;
	if (lower.mode->taking)
		lower.mode->taking(kind, nr, rec);
	if (at_end()) {
		replay_ended(uc);
		return NULL;
	}
	if (rec->kind != kind || rec->nr != nr) {
		char recorded[64], replayed[64];
		call_name(rec->kind, rec->nr, recorded, sizeof(recorded));
		call_name(kind, nr, replayed, sizeof(replayed));
		replay_diverged(uc, "event %lu: recorded %s, replayed %s", (unsigned long)lower.event + 1, recorded,
				replayed);
		return NULL;
	}
	replay.done++;
	replay.before_ns = replay_now_ns();
	replay.present = rec;
	lower.event++;
	return rec;
}

/* Finds the first span that is not as recorded. */
static bool first_difference(const struct log_record *rec, struct rdb_note_sent found[2])
{
	for (const struct log_chunk *c = NULL; (c = log_chunk_next(rec, c));) {
		const struct rdb_note_sent *span = (const void *)(c + 1);
		if (c->addr || c->note != RDB_NOTE_SENT)
			continue;
		for (unsigned i = 0, n; i < c->len / sizeof(*span); i += n) {
			struct rdb_note_sent now[2];
			n = span[i].at & RDB_SENT_BLOCKS ? 2 : 1;
			memcpy(found, &span[i], n * sizeof(*found));
			memcpy(now, found, sizeof(now));
			/* text is not compared: breakpoints and patches are in it */
			if ((!sent_check(now) || now->check != found->check) && !divergence_in_text(found))
				return true;
		}
	}
	found->len = 0;
	return false;
}

static void say_difference(const struct event *ev, uint64_t number, const struct rdb_note_sent *span, ucontext_t *uc)
{
	char what[256];
	divergence_sent(ev, span, what, sizeof(what));
	replay_diverged(uc, "event %lu: %s", (unsigned long)number, what);
}

void replay_question(struct event *ev, ucontext_t *uc)
{
	const struct log_record *rec = replay.next;
	struct thread *self = thread_self();
	if (replay.changed)
		return;
	const bool early = replay.asked && replay.asked->thread == self->upper.number;
	if (early)
		rec = replay.asked;
	else if (!rec || rec->thread != self->upper.number || rec->kind != ev->kind || rec->nargs != ev->nargs ||
		 memcmp(log_args(rec), ev->args, 8ul * ev->nargs))
		return;
	if (rec->nr != ev->nr)
		return;
	if (early)
		replay.asked = NULL;
	if (!first_difference(rec, self->differs) || early)
		return;
	divergence_crossing(uc);
	say_difference(ev, lower.event + 1, self->differs, uc);
}

void replay_answer(struct event *ev, ucontext_t *uc)
{
	turns_await(uc);
	divergence_crossing(uc);
	if (at_end())
		keep_question(ev);
	const struct log_record *rec = take((enum log_kind)ev->kind, ev->nr, uc);
	if (!rec)
		return;
	if (rec->nargs != ev->nargs || memcmp(log_args(rec), ev->args, 8ul * ev->nargs)) {
		unsigned i = 0;
		while (i + 1 < ev->nargs && i < rec->nargs && log_args(rec)[i] == ev->args[i])
			i++;
		char call[64];
		call_name(ev->kind, ev->nr, call, sizeof(call));
		lower.event--;
		replay_diverged(uc, "event %lu: %s: argument %u was %#lx, is %#lx", (unsigned long)lower.event + 1,
				call, i, i < rec->nargs ? (unsigned long)log_args(rec)[i] : 0,
				(unsigned long)ev->args[i]);
		return;
	}
	struct rdb_note_sent *differs = thread_self()->differs;
	if (differs->len) {
		struct rdb_note_sent span[2];
		memcpy(span, differs, sizeof(span));
		differs->len = 0;
		lower.event--;
		say_difference(ev, lower.event + 1, span, uc);
		return;
	}
	ev->result = rec->result;
	apply_chunks(rec);
}

static bool next_is(enum log_kind kind)
{
	const struct log_record *rec = replay.next;
	return rec && rec->kind == kind && rec->thread == thread_self()->upper.number;
}

bool replay_upcall_next(void)
{
	return next_is(LOG_UPCALL);
}

void replay_take_upcall(uint64_t *fn, uint64_t args[6], ucontext_t *uc)
{
	const struct log_record *rec = take(LOG_UPCALL, 0, uc);
	*fn = log_args(rec)[0];
	memset(args, 0, 6 * sizeof(*args));
	memcpy(args, log_args(rec) + 1, 8ul * (rec->nargs - 1u));
	apply_chunks(rec);
}

bool replay_signal_next(void)
{
	return next_is(LOG_SIGNAL);
}

bool replay_take_signal(int *sig, siginfo_t *info)
{
	if (!next_is(LOG_SIGNAL))
		return false;
	const struct log_record *rec = take(LOG_SIGNAL, replay.next->nr, NULL);
	*sig = (int)rec->nr;
	memset(info, 0, sizeof(*info));
	memcpy(info, log_args(rec), 8ul * rec->nargs < sizeof(*info) ? 8ul * rec->nargs : sizeof(*info));
	return true;
}

const struct mark *replay_mark(void)
{
	return next_is(LOG_PREEMPT) ? &replay.mark : NULL;
}

const struct log_record *replay_record(void)
{
	return replay.present;
}
