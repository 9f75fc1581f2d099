/* Calls the gate (interface/gate.h).  The call is an indirect one through memory, so the lower half's address, which
 * differs between processes, is never in a register of the upper half. */
#pragma once
#include "arch/x86_64/interface/gate_call.h"

static inline int64_t rdb_gate_call(uint32_t fn, uint32_t nargs, const uint64_t *args);
