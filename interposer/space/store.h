/* The job's store: private copies of the files that ranks map, shared by its ranks on a node. */
#ifndef RDB_STORE_H
#define RDB_STORE_H
#include <stdbool.h>
#include <stddef.h>

enum { STORE_KEY = 160 }; /* of the image's format, too */

/* Copies the file behind fd into the store unless it is there; key (STORE_KEY bytes) names it from then on:
 * NAME-DEV-INODE-MTIME-SIZE-sSIZE.CRC (log/file_sum.h).  `changing`: the file is written to meanwhile, this copy is for one
 * mapping alone.  0 or -errno. */
int store_add(int fd, const char *path, bool changing, char *key);
/* Opens a stored file read-only, checked (store_check.h): descriptor or -errno. */
int store_open(const char *key);

#endif
