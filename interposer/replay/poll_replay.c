#include "replay/poll_replay.h"
#include <string.h>
#include "arch/gate_frame.h"
#include "arch/registers.h"
#include "crossing/boundary.h"
#include "replay/spin_detect.h"
#include "log/log_reader.h"
#include "replay/replay.h"

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

static ucontext_t returning;
static bool returns;

void poll_replay_returning(const struct gate_frame *frame, int64_t result)
{
	memset(&returning, 0, sizeof(returning));
	gate_frame_behind(&returning, frame, result);
	returns = true;
}

void poll_replay_ahead(const ucontext_t *uc)
{
	if (!uc && returns)
		uc = &returning;
	returns = false;
	const struct log_record *rec = replay_next_record();
	if (!uc || !rec || !LOG_IS_EVENT(rec->kind) || rec->kind == LOG_PREEMPT || !brings_something(rec))
		return;
	if (!RDB_RUNS_UPPER(UC_PC(uc)) || !spin_detect(uc, INSTRUCTIONS))
		return;
	for (const struct log_chunk *c = NULL; (c = next_device_chunk(rec, c));)
		memcpy((void *)c->addr, c + 1, c->len);
}
