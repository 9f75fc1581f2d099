/* The program's registers as the agent sends them (interface/agent.h): struct agent_gpr, struct agent_regs. */
#ifndef RDB_ARCH_AGENT_REGISTERS_H
#define RDB_ARCH_AGENT_REGISTERS_H
#include "arch/x86_64/interface/agent_registers.h"
#endif
