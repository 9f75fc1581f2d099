/* The gate: the only way by which upper-half code calls the lower half on purpose.
 *
 * Our stub libraries (libmpi, libibverbs) run in the upper half.  They reach the lower half by
 * calling GATE->call(fn, nargs, args): the entry switches to the lower stack and the lower thread
 * pointer, runs the event through the boundary (record: the plug-in does it and its effects are
 * logged; replay: the log answers) and returns the 64-bit result.  `args` is an array in upper
 * memory (normally on the caller's stack) of at most RDB_MAX_ARGS 64-bit values; pointers in it
 * are upper addresses.  No lower address ever reaches upper memory; vector state is initialised
 * on return.
 *
 * fn = (namespace << 16) | index.
 */
#ifndef RDB_GATE_H
#define RDB_GATE_H
#include <stdint.h>
#include "base/layout.h"

#define RDB_GATE_MAGIC 0x3165746167626472ull /* "rdbgate1" */
#define RDB_GATE_VERSION 1
#define RDB_MAX_ARGS 16

/* Bytes of the instruction that calls the gate, `call *16(%rax)` here and in vdso.S.  They are not to be found out by a
 * look at what stands before the return address: an instruction may end like a prefix, and a breakpoint may be there. */
enum { RDB_GATE_CALL = 3 };

enum { RDB_NS_CORE = 0, RDB_NS_MPI = 1, RDB_NS_VERBS = 2 };
enum { RDB_CORE_CLOCK = 1 }; /* RDB_NS_CORE: nanoseconds of clock args[0] (vdso.S) */
#define RDB_FN(ns, index) (((uint32_t)(ns) << 16) | (uint32_t)(index))

struct rdb_gate {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	int64_t (*call)(uint32_t fn, uint32_t nargs, const uint64_t *args);
	void (*upcall_return)(void); /* lower continuation of an upcall; used by the code page only */
	void (*syscall)(void);       /* used by the stubs of hot_sites.c only */
	void (*tsc)(void);           /* used by the stubs of tsc_sites.c only */
	void (*spin)(void);          /* used by the stubs of spin_sites.c only */
};

/* Stubs test this first: outside rdb the gate page is not mapped, so a stub must not be loaded
 * by anything but rdb (it is found only through the boundary's redirection of libmpi.so.*). */

#ifndef __ASSEMBLER__
/* Calls the gate.  The call goes through memory, so that the lower half's address, another one in
 * every process, is never in a register of the upper half.  Stubs are compiled with -mno-red-zone. */
static inline int64_t rdb_gate_call(uint32_t fn, uint32_t nargs, const uint64_t *args)
{
	int64_t result;
	uint64_t a = fn, b = nargs;
	__asm__ volatile("call *16(%%rax)" /* struct rdb_gate, call */
			 : "=a"(result), "+D"(a), "+S"(b), "+d"(args)
			 : "0"((int64_t)RDB_GATE)
			 : "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
			   "xmm15");
	return result;
}
#endif

#endif
