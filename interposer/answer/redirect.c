#include "answer/redirect.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/lower.h"

bool redirect_self(const char *path)
{
	char own[32];
	snprintf(own, sizeof(own), "/proc/%d/exe", lower.pid);
	return path && (!strcmp(path, "/proc/self/exe") || !strcmp(path, own));
}

long redirect_readlink(char *buf, size_t size)
{
	size_t len = strlen(lower.upper.exe);
	if (len > size)
		len = size;
	memcpy(buf, lower.upper.exe, len);
	return (long)len;
}

/* A library in front of the gate is opened: the program gets our stub instead (GDB finds it by the recorded
 * path). */
static bool names(const char *base, const char *library)
{
	return !strncmp(base, library, strlen(library));
}

/* The stub for the ABI of the MPI library that this is; all have the names of the libraries they stand for. */
static const char *mpi_stub_for(const char *base)
{
	const char *wanted = names(base, "/libmpi.so.12") ? "/libmpich.so.12"
							  : base; /* MPICH's own name and Debian's */
	for (unsigned i = 0; i < MPI_STUBS && lower.opt.mpi_stub[i]; i++) {
		const char *stub = strrchr(lower.opt.mpi_stub[i], '/');
		if (stub && names(wanted, stub))
			return lower.opt.mpi_stub[i];
	}
	return NULL;
}

static const char *stub_for(const char *base)
{
	return names(base, "/libibverbs.so.1")  ? lower.opt.verbs_stub
	       : names(base, "/librdmacm.so.1") ? lower.opt.cm_stub
						: mpi_stub_for(base);
}

/* A name without a version, such as the libmpi.so that mpi4py's wheels open: its links lead to a file that has one. */
static const char *stub_for_links(const char *path)
{
	char link[32], real[PATH_MAX];
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, real, sizeof(real) - 1);
	close(fd);
	if (len <= 0)
		return NULL;
	real[len] = 0;
	const char *base = strrchr(real, '/');
	return base ? stub_for(base) : NULL;
}

const char *redirected(const char *path)
{
	const char *base = path ? strrchr(path, '/') : NULL;
	if (!base || verifying())
		return path;
	const char *stub = stub_for(base);
	if (!stub && (names(base, "/libmpi") || names(base, "/libibverbs.so") || names(base, "/librdmacm.so")))
		stub = stub_for_links(path);
	return stub && !access(path, R_OK) ? stub : path;
}
