/* The gate: the only way in which upper-half code calls the lower half on purpose.
 *
 * Our stub libraries (libmpi, libibverbs) run in the upper half.  They reach the lower half by calling GATE->call(fn,
 * nargs, args) (arch/gate_call.h).  The entry switches to the lower stack and the lower thread pointer, runs the event
 * through the boundary (record: the plug-in makes the call and its effects are logged; replay: the log answers) and
 * returns the 64-bit result. `args` is an array in upper memory (normally on the caller's stack) of at most
 * RDB_MAX_ARGS 64-bit values; pointers in it are upper addresses.  No lower address ever reaches upper memory; vector
 * state is initialised on return.
 *
 * fn = (namespace << 16) | index.
 */
#pragma once
#include <stdint.h>
#include "interface/layout.h"

#define RDB_GATE_MAGIC 0x3165746167626472ull /* "rdbgate1" */
#define RDB_GATE_VERSION 1
#define RDB_MAX_ARGS 16

enum { RDB_NS_CORE = 0, RDB_NS_MPI = 1, RDB_NS_VERBS = 2 };
enum { RDB_CORE_CLOCK = 1 }; /* RDB_NS_CORE: nanoseconds of clock args[0] (vdso.S) */
#define RDB_FN(ns, index) (((uint32_t)(ns) << 16) | (uint32_t)(index))

struct rdb_gate {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	int64_t (*call)(uint32_t fn, uint32_t nargs, const uint64_t *args);
	void (*upcall_return)(void); /* an upcall returns here; used by the code page only */
	void (*syscall)(void);       /* used by the stubs of hot_sites.c only */
	void (*counter)(void);       /* used by the stubs of counter_sites.c only */
	void (*spin)(void);          /* used by the stubs of spin_sites.c only */
};

/* Outside rdb the gate page is not mapped: only rdb may load a stub.  A program finds it only because the boundary
 * redirects libmpi.so.*. */
