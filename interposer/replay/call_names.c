#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "crossing/gate.h"
#include "log/log_format.h"
#include "replay/call_names.h"
#include "answer/syscall_table.h"
#include "verbs/protocol.h"

/* From the list of the MPI functions, which lies where rdb-exec does (interposer/mpi/gen): no MPI is loaded here. */
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
		[VERBS_DEVICES] = "ibv_get_device_list",
		[VERBS_OPEN] = "ibv_open_device",
		[VERBS_CLOSE] = "ibv_close_device",
		[VERBS_QUERY_DEVICE] = "ibv_query_device_ex",
		[VERBS_QUERY_PORT] = "ibv_query_port",
		[VERBS_QUERY_GID] = "ibv_query_gid",
		[VERBS_QUERY_PKEY] = "ibv_query_pkey",
		[VERBS_ASYNC_EVENT] = "ibv_get_async_event",
		[VERBS_ALLOC_PD] = "ibv_alloc_pd",
		[VERBS_DEALLOC_PD] = "ibv_dealloc_pd",
		[VERBS_REG_MR] = "ibv_reg_mr",
		[VERBS_REREG_MR] = "ibv_rereg_mr",
		[VERBS_DEREG_MR] = "ibv_dereg_mr",
		[VERBS_ALLOC_MW] = "ibv_alloc_mw",
		[VERBS_DEALLOC_MW] = "ibv_dealloc_mw",
		[VERBS_BIND_MW] = "ibv_bind_mw",
		[VERBS_CREATE_CHANNEL] = "ibv_create_comp_channel",
		[VERBS_DESTROY_CHANNEL] = "ibv_destroy_comp_channel",
		[VERBS_CREATE_CQ] = "ibv_create_cq",
		[VERBS_RESIZE_CQ] = "ibv_resize_cq",
		[VERBS_DESTROY_CQ] = "ibv_destroy_cq",
		[VERBS_POLL_CQ] = "ibv_poll_cq",
		[VERBS_NOTIFY_CQ] = "ibv_req_notify_cq",
		[VERBS_CQ_EVENT] = "ibv_get_cq_event",
		[VERBS_CREATE_SRQ] = "ibv_create_srq",
		[VERBS_MODIFY_SRQ] = "ibv_modify_srq",
		[VERBS_QUERY_SRQ] = "ibv_query_srq",
		[VERBS_DESTROY_SRQ] = "ibv_destroy_srq",
		[VERBS_POST_SRQ_RECV] = "ibv_post_srq_recv",
		[VERBS_CREATE_QP] = "ibv_create_qp",
		[VERBS_MODIFY_QP] = "ibv_modify_qp",
		[VERBS_QUERY_QP] = "ibv_query_qp",
		[VERBS_DESTROY_QP] = "ibv_destroy_qp",
		[VERBS_POST_SEND] = "ibv_post_send",
		[VERBS_POST_RECV] = "ibv_post_recv",
		[VERBS_CREATE_AH] = "ibv_create_ah",
		[VERBS_DESTROY_AH] = "ibv_destroy_ah",
		[VERBS_ATTACH_MCAST] = "ibv_attach_mcast",
		[VERBS_DETACH_MCAST] = "ibv_detach_mcast",
		[VERBS_FORK] = "ibv_fork_init",
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
		snprintf(out, size, "%s", verbs ? verbs : "a look at a clock");
	else if (space != RDB_NS_MPI || !mpi_name(call, out, size))
		snprintf(out, size, "%s %u", kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : "?", nr);
}
