/* A hint for polling loops: the processor may slow down. */
#ifndef RDB_ARCH_PAUSE_H
#define RDB_ARCH_PAUSE_H
#include "arch/x86_64/base/pause.h"

static inline void cpu_pause(void);

#endif
