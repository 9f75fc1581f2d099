/* The program's registers as the agent sends them (interface/agent.h): struct agent_gpr, struct agent_regs. */
#pragma once
#include "arch/x86_64/interface/agent_registers.h"
