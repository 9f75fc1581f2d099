#pragma once

static inline void cpu_pause(void)
{
	__builtin_ia32_pause();
}
