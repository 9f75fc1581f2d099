/* Semaphores, message queues and segments of System V (sysvipc(7)) that the program knows.  The kernel keeps them apart
 * from the process, so a checkpoint has nothing of them. */
#pragma once
#include "crossing/event.h"

void ipc_objects_syscall(const struct event *ev);
/* The next program of the process knows them, too. */
bool ipc_objects_hand_on(int fd);
bool ipc_objects_inherit(int fd);
/* Why there can be no checkpoint, or NULL. */
const char *ipc_objects_refuse(void);
