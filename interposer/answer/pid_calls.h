/* Ids of processes and threads in system calls, where a restarted program knows other ones than the kernel (base/pids.h):
 * before the call, and in its answer. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* What the kernel reads instead of the program's memory. */
struct pid_room {
	union {
		int32_t word[2];
		siginfo_t info;
		struct {
			struct msghdr head;
			_Alignas(8) char control[1024];
		} message;
		char path[4096];
	};
};

void pids_in(uint64_t nr, uint64_t args[6], struct pid_room *room);
/* args: as the program made the call. */
int64_t pids_out(uint64_t nr, const uint64_t args[6], int64_t result);
/* readlink(2) of /proc/self and /proc/thread-self. */
bool pids_link(uint64_t nr, const uint64_t args[6], int64_t *result);
