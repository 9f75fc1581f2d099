#include "task/nonblocking.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* recv(2): errors that have been queued are not waited for */
static bool flagged(long nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_recvfrom:
	case SYS_recvmmsg: return args[3] & (MSG_DONTWAIT | MSG_ERRQUEUE);
	case SYS_recvmsg: return args[2] & (MSG_DONTWAIT | MSG_ERRQUEUE);
	case SYS_sendto:
	case SYS_sendmmsg: return args[3] & MSG_DONTWAIT;
	case SYS_sendmsg: return args[2] & MSG_DONTWAIT;
	case SYS_preadv2:
	case SYS_pwritev2: return args[5] & RWF_NOWAIT;
	case SYS_vmsplice: return args[3] & SPLICE_F_NONBLOCK;
	default: return false;
	}
}

bool never_blocks(long nr, const uint64_t args[6])
{
	if (flagged(nr, args))
		return true;
	const int flags = fcntl((int)args[0], F_GETFL);
	return flags < 0 || flags & O_NONBLOCK;
}
