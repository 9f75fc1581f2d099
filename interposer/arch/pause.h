/* A hint for polling loops: the processor may slow down. */
#pragma once
#include "arch/x86_64/base/pause.h"

static inline void cpu_pause(void);
