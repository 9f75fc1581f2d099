/* Abilities that the kernel has only for this kind of processor; `rdb doctor` prints them. */
#pragma once
#include <stdbool.h>

/* Ends with an entry whose name is NULL. */
extern const struct arch_probe {
	const char *name;
	bool (*there)(void);
} arch_probes[];
