/* The table of system calls (syscalls.def): who answers each call, and which memory it writes. */
#pragma once
#include <ucontext.h>
#include "crossing/event.h"

enum class { UNKNOWN, PASS, EMU, FAIL };
enum out_kind { O_END, O_FIX, O_RET, O_CAP, O_VAL, O_ARR, O_ERR, O_FN };

struct row;
typedef void out_fn(struct event *ev);
typedef long emu_fn(struct event *ev, ucontext_t *uc);

struct row {
	const char *name;
	enum class class;
	struct {
		enum out_kind kind;
		unsigned arg, n, m;
		out_fn *fn;
	} out;
	emu_fn *emu;
	const char *why;
	int error;  /* FAIL */
	bool quiet; /* refuse without a caution */
};

/* NULL: not in the table. */
const struct row *syscall_row(uint64_t nr);

/* Puts what the kernel sees into arguments of 32 bits whose upper half is neither zero nor the sign: it ignores that half.
 * Programs set the others in both ways, and recordings have them so. */
void syscall_narrow(uint64_t nr, uint64_t args[6]);

/* Logs the bytes that the call has written, as its row says. */
void syscall_row_outputs(struct event *ev, const struct row *row);

/* exit and exit_group; a replay carries out their first half only. */
long call_exit(struct event *ev, ucontext_t *uc);

/* Only on this kind of processor: arch_prctl(2). */
long call_arch_prctl(struct event *ev, ucontext_t *uc);
