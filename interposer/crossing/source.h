/* Functions that deal with what arrives at the boundary: threads, signals, answers.  Their folders are above this one,
 * so main() sets them. */
#pragma once
#include "base/thread.h"
#include "crossing/clock_row.h"
#include "crossing/event.h"

struct source {
	/* A system call; the start call of a thread (gate_asm.h); a patched look at the counter; a spin; a call of
	 * RDB_NS_CORE. */
	void (*syscall)(ucontext_t *uc);
	void (*started)(ucontext_t *uc);
	void (*counter)(void);
	void (*spin)(void);
	int64_t (*core)(uint32_t fn, const uint64_t *args);
	/* A signal that the program's own instruction raises; one that is sent. */
	void (*fault)(int sig, siginfo_t *info, ucontext_t *uc);
	void (*sent)(int sig, siginfo_t *info, void *ctx);
	/* True: an instruction that asks the machine raised the signal, and is answered now. */
	bool (*asks)(int sig, const siginfo_t *info, ucontext_t *uc);
	/* An event is over: delivers due signals; sets the signal mask back after a call with a mask of its own. */
	void (*deliver)(ucontext_t *uc);
	void (*resume)(void);
	/* Looks at a thread that others wait for.  `missed`: makes up for a look that was missed. */
	void (*look)(ucontext_t *uc, bool missed);
	/* A thread asks, or is answered: notices one that does nothing but ask again and again. */
	void (*polls)(uint64_t at);
	void (*polled)(ucontext_t *uc);
	/* The time that the program is told when the clock says `now`. */
	int64_t (*time)(uint64_t clock, int64_t now);
	/* The lower half's libc has made a thread. */
	void (*made_thread)(void);
	/* In a forked child: drops what was under way for the parent.  The program ends, or is replaced. */
	void (*forked)(void);
	void (*leaves)(void);
	/* The name of an event (call_names.h). */
	void (*name)(unsigned kind, uint32_t nr, char *out, size_t size);
	/* A library is about to change that file, or to delete it.  True: there is none; made: now there is. */
	bool (*file_changes)(const char *path, bool deletes);
	void (*file_made)(const char *path);
	/* The branch has a file of that path for itself at PLACE (LONGEST); from now on it has. */
	bool (*own_place)(const char *path, char *place);
	void (*own_add)(const char *path, const char *place);
	/* More calls may take the short way (clock.h). */
	void (*quick_again)(void);
};

extern const struct source *source;

/* A thread that is alone waits for no other thread, only for a time. */
static inline void source_polls(uint64_t at)
{
	if (threads_compete() || clock_row_may_delay())
		source->polls(at);
}

static inline void source_polled(const struct thread *self, ucontext_t *uc)
{
	if (self->polling.asks)
		source->polled(uc);
}
