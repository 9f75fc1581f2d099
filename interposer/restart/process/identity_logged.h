/* What a recorded program has changed of its identity (identity.h), by its log: a replay changes none of it. */
#pragma once
#include "crossing/event.h"

/* A system call that succeeded in the recording. */
void identity_logged(const struct event *ev);
/* From a process of a tree to its children and next programs. */
bool identity_logged_hand_on(int fd);
bool identity_logged_inherit(int fd);
/* Why there can be no restart, or NULL. */
const char *identity_logged_refuses(void);
