/* Descriptors that a library below the gate gives to the program, and takes back, without a system call. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/files/open_files.h"
#include "restart/base/open_table.h"

static struct opened *of_library(uint32_t key)
{
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++)
		if (f->kind == LIBRARY && f->pipe == key)
			return f;
	return NULL;
}

void open_files_library(uint32_t key, int number, int fd)
{
	struct opened *f;
	open_table_begin();
	if (number >= 0) {
		f = open_make(LIBRARY, 0);
		f->pipe = key;
		f->offset = (uint64_t)number;
		open_put(number, f, true);
		return;
	}
	f = of_library(key);
	if (f && fd < 0 && open_at(f->offset) == f)
		open_drop(f->offset);
	if (!f || fd < 0)
		return;
	int copy = dup(fd), rc;
	f->made = rc = copy < 0 ? -errno : lower_fd(copy);
	if (rc >= 0 && fcntl(f->made, F_SETFL, f->flags & O_NONBLOCK))
		rc = -errno;
	if (rc < 0)
		live_refuse("a descriptor of the verbs library cannot be copied: %s", strerror(-rc));
}
