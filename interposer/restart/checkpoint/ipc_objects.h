/* Semaphores, message queues and segments of System V (sysvipc(7)) that the program knows.  The kernel keeps them apart
 * from the process, so a checkpoint has nothing of them. */
#pragma once
#include "crossing/event.h"

void ipc_objects_syscall(const struct event *ev);
/* Why there can be no checkpoint, or NULL. */
const char *ipc_objects_refuse(void);
