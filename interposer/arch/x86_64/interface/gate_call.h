#pragma once
#include <stdint.h>
#include "interface/gate.h"

/* Length of the instruction that calls the gate, `call *16(%rax)` below and in vdso.S.  It cannot be derived from the
 * bytes before the return address: another instruction may end like a prefix, and a breakpoint may be there. */
enum { RDB_GATE_CALL = 3 };

/* Stubs are compiled with -mno-red-zone. */
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
