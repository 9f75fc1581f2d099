#ifndef RDB_X86_64_PAUSE_H
#define RDB_X86_64_PAUSE_H

static inline void cpu_pause(void)
{
	__builtin_ia32_pause();
}

#endif
