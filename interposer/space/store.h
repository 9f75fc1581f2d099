/* The job's store: private copies of the files that ranks map, shared by all its ranks on a node. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { STORE_KEY = 160 }; /* also part of the image format */

/* Copies the file behind fd into the store unless it is there; key (STORE_KEY bytes) names it from then on:
 * NAME-DEV-INODE-MTIME-SIZE-sSIZE.CRC (log/file_sum.h). `changing`: the file may be written meanwhile, so this copy is
 * for one mapping only. 0 or -errno. */
int store_add(int fd, const char *path, bool changing, char *key);
/* Opens a stored file read-only, after a check (store_check.h).  A descriptor or -errno. */
int store_open(const char *key);
