#include "replay/looks.h"
#include <string.h>
#include "crossing/boundary.h"
#include "replay/circle.h"
#include "log/log_reader.h"
#include "replay/replay.h"
#include "task/thread.h"

enum { INSTRUCTIONS = 20000 };

static const struct log_chunk *next_device_chunk(const struct log_record *rec, const struct log_chunk *c)
{
	while ((c = log_chunk_next(rec, c)))
		if (c->addr && c->note == RDB_NOTE_DEVICE)
			return c;
	return NULL;
}

static bool brings_something(const struct log_record *rec)
{
	for (const struct log_chunk *c = NULL; (c = next_device_chunk(rec, c));)
		if (memcmp((const void *)c->addr, c + 1, c->len))
			return true;
	return false;
}

/* What upper code has when the hypercall returns (gate.S): the others are zero. */
static void after_hypercall(ucontext_t *uc, const struct gate_frame *frame, int64_t result)
{
	memset(uc, 0, sizeof(*uc));
	gate_frame_kept(uc, frame);
	UC_REG(uc, EFL) = 0x246;
	UC_REG(uc, RAX) = (uint64_t)result;
	UC_REG(uc, RIP) = *(const uint64_t *)frame->rsp;
}

static ucontext_t returning;
static bool returns;

void looks_returning(const struct gate_frame *frame, int64_t result)
{
	after_hypercall(&returning, frame, result);
	returns = true;
}

void looks_ahead(const ucontext_t *uc)
{
	if (!uc && returns)
		uc = &returning;
	returns = false;
	const struct log_record *rec = replay_next_record();
	if (!uc || !rec || !LOG_IS_EVENT(rec->kind) || rec->kind == LOG_PREEMPT || !brings_something(rec))
		return;
	if (!RDB_IS_UPPER(UC_REG(uc, RIP)) || !circle_from(uc, INSTRUCTIONS))
		return;
	for (const struct log_chunk *c = NULL; (c = next_device_chunk(rec, c));)
		memcpy((void *)c->addr, c + 1, c->len);
}
