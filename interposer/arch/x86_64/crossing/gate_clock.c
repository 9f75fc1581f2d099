#include "arch/registers.h"
#include "arch/x86_64/interface/gate_call.h"
#include "crossing/boundary.h"
#include "crossing/hot_sites.h"
#include "crossing/source.h"

/* A clock read by the program, like hot_syscall(): uc is at the gate, and goes on with the general way unless it is
 * answered here (gate.S). */
uint64_t boundary_clock(ucontext_t *uc, uint64_t tls);

uint64_t boundary_clock(ucontext_t *uc, uint64_t tls)
{
	static const int cleared[] = {REG_RDX, REG_RSI, REG_RDI, REG_RCX, REG_R8, REG_R9, REG_R10, REG_R11};
	struct thread *self = thread_self();
	const uint64_t back = *(const uint64_t *)UC_SP(uc), args[] = {*(const uint64_t *)UC_REG(uc, RDX)};
	self->upper.tls = tls;
	if (back - RDB_VDSO >= RDB_PAGE || !hot_context_will_do(self))
		return tls;
	UC_PC(uc) = back - RDB_GATE_CALL;
	UC_SP(uc) += sizeof(back);
	UC_REG(uc, RAX) = RDB_GATE;
	struct hot_outer outer = hot_enter(self, uc);
	self->asks_at = UC_PC(uc);
	source_polls(self->asks_at);
	struct event *ev = event_begin(LOG_HYPERCALL, (uint32_t)UC_REG(uc, RDI), args, 1);
	ev->result = host_call(ev, NULL);
	event_end(ev);
	UC_PC(uc) = back;
	UC_REG(uc, RAX) = (uint64_t)ev->result;
	for (unsigned i = 0; i < sizeof(cleared) / sizeof(*cleared); i++)
		uc->uc_mcontext.gregs[cleared[i]] = 0;
	UC_REG(uc, EFL) = (UC_REG(uc, EFL) & ~0xcd5ul) | 0x44; /* the flags after xorl */
	event_answered(NULL);
	return hot_leave(self, uc, outer);
}
