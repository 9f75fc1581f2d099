#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/uio.h>
#include <netinet/in.h>
#include <time.h>
#include "base/descriptor_table.h"
#include "base/user.h"
#include "task/signals.h"
#include "task/thread.h"
#include "answer/syscall_outputs.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

void out_if(struct event *ev, uint64_t addr, size_t len)
{
	if (addr && len)
		event_out(ev, (void *)addr, len);
}

void out_writable(struct event *ev, uint64_t addr, size_t len)
{
	size_t there = 0;
	while (there < len && user_writable(addr + there, 1))
		there += RDB_PAGE - (addr + there) % RDB_PAGE;
	out_if(ev, addr, there < len ? there : len);
}

/* The first `bytes` bytes of the buffers of an iovec. */
static void out_iovec(struct event *ev, const struct iovec *iov, size_t n, uint64_t bytes)
{
	for (size_t i = 0; i < n && bytes; i++) {
		size_t len = iov[i].iov_len < bytes ? iov[i].iov_len : bytes;
		out_if(ev, (uint64_t)iov[i].iov_base, len);
		bytes -= len;
	}
}

/* open(2), O_DIRECT: the device writes whole sectors, also those of which only a part, or nothing, is in the file. */
static uint64_t read_into(const struct event *ev, uint64_t asked)
{
	enum { SECTOR = 512 };
	const uint64_t got = (uint64_t)ev->result;
	if (got >= asked || asked % SECTOR)
		return got;
	const long flags = raw_syscall(SYS_fcntl, (long)A(0), F_GETFL, 0, 0, 0, 0);
	return flags > 0 && flags & O_DIRECT ? asked : got;
}

void out_read(struct event *ev)
{
	if (ev->result <= 0)
		return;
	const uint64_t n = read_into(ev, A(2));
	(n > (uint64_t)ev->result ? out_writable : out_if)(ev, A(1), n);
}

void out_readv(struct event *ev)
{
	const struct iovec *iov = P(1);
	uint64_t asked = 0;
	if (ev->result <= 0)
		return;
	for (size_t i = 0; i < A(2); i++)
		asked += iov[i].iov_len;
	out_iovec(ev, iov, A(2), read_into(ev, asked));
}

/* accept(2): the returned length is that of the address, which may be more than the buffer holds */
static void out_address(struct event *ev, uint64_t addr, uint64_t len)
{
	if (!addr || !len)
		return;
	socklen_t n = *(const socklen_t *)len;
	out_writable(ev, addr, n < sizeof(struct sockaddr_storage) ? n : sizeof(struct sockaddr_storage));
	out_if(ev, len, sizeof(socklen_t));
}

/* net/socket.c, __sys_socketpair: the numbers are there before it is known that there will be sockets */
void out_socketpair(struct event *ev)
{
	out_writable(ev, A(3), 2 * sizeof(int));
}

/* net/core/sock.c: a length that is too small is answered with the right one; of a filter it counts the instructions */
void out_getsockopt(struct event *ev)
{
	const bool filter = (int)A(1) == SOL_SOCKET && (int)A(2) == SO_GET_FILTER;
	uint32_t length;
	if ((ev->result < 0 && ev->result != -ERANGE) || user_read(&length, A(4), sizeof(length)))
		return;
	if (ev->result >= 0)
		out_writable(ev, A(3), filter ? length * sizeof(struct sock_filter) : length);
	out_writable(ev, A(4), sizeof(length));
}

/* net/ipv4/netfilter/ip_tables.c, arp_tables.c: who replaces a table is given the counters of the former one */
void out_setsockopt(struct event *ev)
{
	enum { REPLACE = 64, ARP_REPLACE = 96, IP_COUNTERS = 84, ARP_COUNTERS = 68, COUNTER = 16 };
	const int level = (int)A(1), option = (int)A(2);
	const bool arp = level == SOL_IP && option == ARP_REPLACE;
	uint32_t n;
	uint64_t at;
	if (ev->result || !(arp || (option == REPLACE && (level == SOL_IP || level == SOL_IPV6))))
		return;
	const uint64_t counters = A(3) + (arp ? ARP_COUNTERS : IP_COUNTERS);
	if (!user_read(&n, counters, sizeof(n)) && !user_read(&at, counters + sizeof(n), sizeof(at)))
		out_if(ev, at, (size_t)n * COUNTER);
}

void out_accept(struct event *ev)
{
	if (ev->result >= 0)
		out_address(ev, A(1), A(2));
}

/* net/socket.c, move_addr_to_user: the length is also told to who wants no address */
void out_name(struct event *ev)
{
	if (ev->result < 0)
		return;
	if (A(1))
		out_address(ev, A(1), A(2));
	else
		out_if(ev, A(2), sizeof(socklen_t));
}

void out_recvfrom(struct event *ev)
{
	/* net/socket.c, __sys_recvfrom: that the address has a negative length is told afterwards */
	if (ev->result == -EINVAL)
		out_writable(ev, A(1), A(2));
	if (ev->result < 0)
		return;
	out_if(ev, A(1), (uint64_t)ev->result < A(2) ? (uint64_t)ev->result : A(2));
	out_address(ev, A(4), A(5));
}

static void out_message(struct event *ev, const struct msghdr *m, uint64_t bytes)
{
	socklen_t n = m->msg_namelen;
	out_iovec(ev, m->msg_iov, m->msg_iovlen, bytes);
	out_writable(ev, (uint64_t)m->msg_name,
		     n < sizeof(struct sockaddr_storage) ? n : sizeof(struct sockaddr_storage));
	out_if(ev, (uint64_t)m->msg_control, m->msg_controllen);
}

void out_recvmsg(struct event *ev)
{
	if (ev->result < 0)
		return;
	out_message(ev, P(1), (uint64_t)ev->result);
	out_if(ev, A(1), sizeof(struct msghdr));
}

void out_recvmmsg(struct event *ev)
{
	const struct mmsghdr *m = P(1);
	for (long i = 0; i < ev->result; i++)
		out_message(ev, &m[i].msg_hdr, m[i].msg_len);
	if (ev->result > 0)
		out_if(ev, A(1), (uint64_t)ev->result * sizeof(*m));
	if (ev->result >= 0)
		out_if(ev, A(4), sizeof(struct timespec));
}

/* fs/select.c: revents are also written when a signal ended the wait */
void out_poll(struct event *ev)
{
	if (ev->result >= 0 || ev->result == -EINTR || ev->result == SIGNALS_RESTART)
		out_if(ev, A(0), A(1) * sizeof(struct pollfd));
}

/* poll(2), "C library/kernel differences": the kernel stores the remaining time, if it can (fs/select.c,
 * poll_select_finish) */
void out_ppoll(struct event *ev)
{
	out_poll(ev);
	if (ev->result != -EFAULT && ev->result != -EINVAL)
		out_writable(ev, A(2), sizeof(struct timespec));
}

int select_descriptors(int n)
{
	enum { SHORTEST = 64 };
	if (n <= SHORTEST)
		return n;
	const int table = descriptor_table();
	return n < table ? n : table;
}

void out_select(struct event *ev)
{
	if (ev->result == -EFAULT || ev->result == -EINVAL)
		return;
	size_t bytes = ((size_t)select_descriptors((int)A(0)) + 63) / 64 * 8;
	for (unsigned i = 1; i <= 3; i++)
		out_writable(ev, A(i), bytes);
	out_writable(ev, A(4), 16);
}

enum { MINCORE_MOST = 16 << 20 };

void out_mincore(struct event *ev)
{
	const size_t pages = A(1) / RDB_PAGE + (A(1) % RDB_PAGE != 0);
	if (ev->result == 0)
		out_if(ev, A(2), pages);
	else if (ev->result == -ENOMEM) /* of the pages before a gap it has told */
		out_writable(ev, A(2), pages < MINCORE_MOST ? pages : MINCORE_MOST);
}

void out_gettimeofday(struct event *ev)
{
	out_if(ev, A(0), 16);
	out_if(ev, A(1), 8);
}

void out_wait4(struct event *ev)
{
	if (ev->result < 0)
		return;
	out_if(ev, A(1), 4);
	out_if(ev, A(3), 144);
}

void out_waitid(struct event *ev)
{
	out_writable(ev, A(2), sizeof(siginfo_t)); /* kernel/exit.c, waitid: cleared also by a call that fails */
	if (ev->result >= 0)
		out_if(ev, A(4), 144);
}

void out_timer_create(struct event *ev)
{
	/* kernel/time/posix-timers.c, do_timer_create: the id is stored before the clock may refuse the timer */
	out_writable(ev, A(2), 4);
}

void out_sigtimedwait(struct event *ev)
{
	if (ev->result > 0)
		out_if(ev, A(1), sizeof(siginfo_t));
}

void out_getres(struct event *ev)
{
	for (unsigned i = 0; i < 3; i++)
		out_if(ev, A(i), 4);
}

void out_capget(struct event *ev)
{
	uint32_t version;
	out_if(ev, A(0), 4); /* kernel/capability.c stores its own version if it does not know the program's */
	if (ev->result == 0 && !user_read(&version, A(0), sizeof(version)))
		out_if(ev, A(1), version == _LINUX_CAPABILITY_VERSION_1 ? 12 : 24);
}

/* kernel/capability.c, cap_validate_magic: as of capget */
void out_capset(struct event *ev)
{
	if (ev->result == -EINVAL)
		out_writable(ev, A(0), 4);
}

void out_robust_list(struct event *ev)
{
	if (ev->result)
		return;
	out_if(ev, A(1), sizeof(uint64_t));
	out_if(ev, A(2), sizeof(uint64_t));
}

/* kernel/sched/syscalls.c, sched_copy_attr: says which size it knows */
void out_sched_setattr(struct event *ev)
{
	if (ev->result == -E2BIG)
		out_writable(ev, A(1), 4);
}

void out_getcpu(struct event *ev)
{
	out_if(ev, A(0), 4);
	out_if(ev, A(1), 4);
}

void out_copy_range(struct event *ev)
{
	if (ev->result < 0)
		return;
	out_writable(ev, A(1), 8); /* nothing to copy: the kernel has not looked there */
	out_writable(ev, A(3), 8);
}

void out_fcntl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(1)) {
	case F_GETLK:
	case 36 /* F_OFD_GETLK */: out_if(ev, A(2), sizeof(struct flock)); return;
	case 16 /* F_GETOWN_EX */:
	case 17 /* F_GETOWNER_UIDS */:
	case F_GET_RW_HINT:
	case 1037 /* F_GET_FILE_RW_HINT */: out_if(ev, A(2), 8); return;
	}
}

/* get_mempolicy(2), mm/mempolicy.c: copy_nodes_to_user */
void out_mempolicy(struct event *ev)
{
	if (ev->result < 0)
		return;
	out_if(ev, A(0), 4);
	if (A(2))
		out_if(ev, A(1), (A(2) - 1 + 63) / 64 * 8);
}

void out_getgroups(struct event *ev)
{
	if (ev->result > 0 && A(0))
		out_if(ev, A(1), (uint64_t)ev->result * 4);
}

/* getxattrat: struct xattr_args {value, size, flags} (linux/xattr.h) */
void out_getxattrat(struct event *ev)
{
	const struct {
		uint64_t value;
		uint32_t size, flags;
	} *x = P(4);
	if (ev->result > 0 && x->size)
		out_if(ev, x->value, (uint64_t)ev->result < x->size ? (uint64_t)ev->result : x->size);
}

/* syslog(2): SYSLOG_ACTION_READ, _READ_ALL, _READ_CLEAR */
void out_syslog(struct event *ev)
{
	if (ev->result > 0 && A(0) >= 2 && A(0) <= 4)
		out_if(ev, A(1), (uint64_t)ev->result);
}

/* sysfs(2): option 2 gives the name of a file system type */
void out_sysfs(struct event *ev)
{
	if (ev->result >= 0 && A(0) == 2)
		out_if(ev, A(2), strlen(P(2)) + 1);
}

/* open_by_handle_at(2): if the handle is too small, the required size is stored in it */
void out_handle(struct event *ev)
{
	const struct file_handle *h = P(2);
	if (ev->result >= 0)
		out_if(ev, A(2), sizeof(*h) + h->handle_bytes);
	else if (ev->result == -EOVERFLOW)
		out_if(ev, A(2), sizeof(*h));
	else
		return;
	out_if(ev, A(3), A(4) & 1 /* AT_HANDLE_MNT_ID_UNIQUE */ ? 8 : 4);
}

void out_vm_read(struct event *ev)
{
	if (ev->result > 0)
		out_iovec(ev, P(1), A(2), (uint64_t)ev->result);
}

/* matters only if the other process is the program itself */
void out_vm_write(struct event *ev)
{
	if (ev->result > 0 && threads_number_now(A(0)) == (uint64_t)lower.pid)
		out_iovec(ev, P(3), A(4), (uint64_t)ev->result);
}

/* vmsplice(2): with the read end of a pipe it writes to memory */
void out_vmsplice(struct event *ev)
{
	long flags = raw_syscall(72 /* fcntl */, (long)A(0), F_GETFL, 0, 0, 0, 0);
	if (ev->result > 0 && flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		out_iovec(ev, P(1), A(2), (uint64_t)ev->result);
}

/* struct statmount begins with its size, including the text behind it (linux/mount.h) */
void out_statmount(struct event *ev)
{
	if (ev->result >= 0) {
		uint32_t size = *(const uint32_t *)P(1);
		out_if(ev, A(1), size < A(2) ? size : A(2));
	}
}
