/* Abilities that the kernel has only for this kind of processor; `rdb doctor` prints them. */
#ifndef RDB_ARCH_PROBES_H
#define RDB_ARCH_PROBES_H
#include <stdbool.h>

/* Ends with an entry whose name is NULL. */
extern const struct arch_probe {
	const char *name;
	bool (*there)(void);
} arch_probes[];

#endif
