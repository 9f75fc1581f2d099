/* Abilities of this machine; `rdb doctor` prints the same probes as the code uses. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool probe_dispatch(void); /* Syscall User Dispatch, Linux 5.11 */
int probe_print(void);
