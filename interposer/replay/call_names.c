#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "interface/gate.h"
#include "interface/log_format.h"
#include "replay/call_names.h"
#include "answer/syscall_table.h"
#include "verbs/protocol.h"

/* Looks the name up in the list of MPI functions beside rdb-exec (interposer/mpi/gen): no MPI is loaded here. */
static bool mpi_name(unsigned index, char *out, size_t size)
{
	char path[4096], key[64];
	const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct stat st;
	path[len < 0 ? 0 : len] = 0;
	char *slash = strrchr(path, '/');
	if (!slash || (size_t)(slash - path) + sizeof("/mpi/functions.json") > sizeof(path))
		return false;
	strcpy(slash, "/mpi/functions.json");
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 || fstat(fd, &st) ? MAP_FAILED
					      : mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (text == MAP_FAILED)
		return false;
	static const char before[] = "\"name\": \"";
	const int n = snprintf(key, sizeof(key), "\"%u\": {", index);
	const char *at = memmem(text, (size_t)st.st_size, key, (size_t)n);
	at = at ? memmem(at, (size_t)(text + st.st_size - at), before, sizeof(before) - 1) : NULL;
	if (at) {
		at += sizeof(before) - 1;
		const size_t room = (size_t)(text + st.st_size - at), most = room < size - 1 ? room : size - 1;
		const char *end = memchr(at, '"', most);
		snprintf(out, size, "%.*s", (int)(end ? (size_t)(end - at) : most), at);
	}
	munmap(text, (size_t)st.st_size + 1);
	return at;
}

static const char *verbs_name(unsigned call)
{
	static const char *const names[VERBS_CALLS] = {
#define CALL(number, function, name) [VERBS_##number] = name,
#include "verbs/calls.def"
#undef CALL
	};
	return call < VERBS_CALLS ? names[call] : NULL;
}

void call_name(unsigned kind, uint32_t nr, char *out, size_t size)
{
	static const char *const kinds[] = {"?",      "meta",   "start",      "system call", "hypercall",
					    "upcall", "signal", "rdtsc",      "hash",        "checkpoint",
					    "file",   "end",    "resumption", "switch"};
	const struct row *row = kind == LOG_SYSCALL ? syscall_row(nr) : NULL;
	const unsigned space = kind == LOG_HYPERCALL ? nr >> 16 : UINT32_MAX, call = nr & 0xffff;
	const char *verbs = space == RDB_NS_VERBS ? verbs_name(call) : NULL;
	if (row && row->name)
		snprintf(out, size, "%s(2)", row->name);
	else if (verbs || space == RDB_NS_CORE)
		snprintf(out, size, "%s", verbs ? verbs : "a clock reading");
	else if (space != RDB_NS_MPI || !mpi_name(call, out, size))
		snprintf(out, size, "%s %u", kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : "?", nr);
}
