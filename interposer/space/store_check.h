/* Checks that a stored file is what was stored, when a replay or restart first maps it. */
#pragma once

/* 0, -errno, or -EBADMSG (said); in the middle of a replay it does not return then. */
int store_check(int fd, const char *key);
