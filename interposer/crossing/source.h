/* Who deals with what arrives at the boundary: threads, signals, answers.  They are above it, so main() says who they are. */
#ifndef RDB_SOURCE_H
#define RDB_SOURCE_H
#include "crossing/event.h"

struct source {
	/* A system call; the start call of a thread (gate_asm.h); a patched rdtsc; a spin; a call of RDB_NS_CORE. */
	void (*syscall)(ucontext_t *uc);
	void (*started)(ucontext_t *uc);
	void (*tsc)(void);
	void (*spin)(void);
	int64_t (*core)(uint32_t fn, const uint64_t *args);
	/* A signal that the program's own instruction raises; one that somebody sends. */
	void (*fault)(int sig, siginfo_t *info, ucontext_t *uc);
	void (*sent)(int sig, siginfo_t *info, void *ctx);
	/* Is it by an instruction that asks the machine, and answered now? */
	bool (*asks)(int sig, const siginfo_t *info, ucontext_t *uc);
	/* An event is over: signals that are due; the mask of a call that is answered. */
	void (*deliver)(ucontext_t *uc);
	void (*resume)(void);
	/* The look at a thread that others wait for was missed; it is made up for. */
	void (*look)(ucontext_t *uc, bool missed);
	/* The lower half's libc has made a thread. */
	void (*made_thread)(void);
	/* In a child: what was under way is its parent's.  The program ends, or is replaced. */
	void (*forked)(void);
	void (*leaves)(void);
	/* What people call an event (call_names.h). */
	void (*name)(unsigned kind, uint32_t nr, char *out, size_t size);
	/* Many of its kind may take a short way (clock.h). */
	void (*quick_again)(void);
};

extern const struct source *source;

#endif
