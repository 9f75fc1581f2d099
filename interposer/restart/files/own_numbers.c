#include "restart/files/own_numbers.h"
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "answer/process.h"
#include "task/thread.h"
#include "base/descriptors.h"
#include "base/user.h"
#include "restart/base/open_table.h"

#define A(i) (ev->args[i])

static struct {
	uint8_t of[NUMBERS]; /* enum own_number */
	int64_t highest;     /* descriptor that the program has got */
	struct {
		dev_t dev;
		ino_t ino;
	} standard[3];
	bool inherited;
} own;

static void mine(int64_t fd, bool is)
{
	if (fd >= 0 && fd < NUMBERS)
		own.of[fd] = is ? OWN : NOT_OWN;
	if (is && fd > own.highest)
		own.highest = fd;
}

/* What the launcher has left open stays the launcher's under another number, too (shells keep it so), unless the program
 * reads or writes there. */
static void copied(const struct event *ev)
{
	mine(ev->result, A(0) >= NUMBERS || own.of[A(0)] != NOT_OWN || ev->result < 3);
}

/* A restarted program's descriptors are those that were made again for it. */
static bool restored(int fd)
{
	const struct opened *f = open_at((uint64_t)fd);
	return f && f->kind != LIBRARY;
}

void own_numbers_begin(void)
{
	struct stat st;
	for (int fd = 0; fd < NUMBERS && own.inherited; fd++)
		if (own.of[fd] && fcntl(fd, F_GETFD) < 0) /* execve(2) has closed it */
			own.of[fd] = NOT_OWN;
	if (own.inherited)
		return;
	for (int fd = 0; fd < lower.lowest_fd && fd < NUMBERS; fd++)
		/* a launcher's pipes and sockets, which it has left open, mean nothing to the program */
		mine(fd, lower.opt.from_image
				 ? restored(fd)
				 : fstat(fd, &st) == 0 && (fd < 3 || S_ISREG(st.st_mode)) && !descriptor_is_ours(fd));
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &st) == 0) {
			own.standard[fd].dev = st.st_dev;
			own.standard[fd].ino = st.st_ino;
		}
}

bool own_numbers_hand_on(int fd)
{
	return write(fd, &own, sizeof(own)) == (ssize_t)sizeof(own);
}

bool own_numbers_inherit(int fd)
{
	own.inherited = read(fd, &own, sizeof(own)) == (ssize_t)sizeof(own);
	return own.inherited;
}

void own_numbers_closing(const struct event *ev)
{
	if (ev->nr == SYS_close)
		mine((int64_t)A(0), false);
	else if (ev->nr == SYS_close_range && !(A(2) & 4 /* CLOSE_RANGE_CLOEXEC */))
		for (uint64_t fd = A(0); fd <= A(1) && fd < NUMBERS; fd++)
			mine((int64_t)fd, false);
}

/* unix(7), SCM_RIGHTS */
static void received(const struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	for (; c; c = CMSG_NXTHDR((struct msghdr *)m, (struct cmsghdr *)c))
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			int fd;
			memcpy(&fd, (const char *)c + at, sizeof(fd));
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
				mine(fd, true);
		}
}

/* ip(7), ipv6(7): the kernel does not tell which groups a socket has joined. */
static bool joins(const struct event *ev)
{
	const int name = (int)A(2);
	return (A(1) == IPPROTO_IP && (name == IP_ADD_MEMBERSHIP || name == IP_ADD_SOURCE_MEMBERSHIP ||
				       name == MCAST_JOIN_GROUP || name == MCAST_JOIN_SOURCE_GROUP)) ||
	       (A(1) == IPPROTO_IPV6 && (name == IPV6_JOIN_GROUP || name == IPV6_JOIN_ANYCAST ||
					 name == MCAST_JOIN_GROUP || name == MCAST_JOIN_SOURCE_GROUP));
}

void own_numbers_syscall(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_open:
	case SYS_openat:
	case SYS_openat2:
	case SYS_creat:
	case SYS_socket:
	case SYS_accept:
	case SYS_accept4:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_timerfd_create:
	case SYS_signalfd:
	case SYS_signalfd4:
	case SYS_inotify_init:
	case SYS_inotify_init1:
	case SYS_memfd_create:
	case SYS_mq_open:
	case SYS_fanotify_init:
	case SYS_userfaultfd:
	case SYS_memfd_secret:
	case SYS_bpf:
	case SYS_open_tree:
	case SYS_fsmount:
	case SYS_fspick:
	case SYS_fsopen:
	case SYS_open_by_handle_at:
	case SYS_pidfd_getfd:
	case SYS_pidfd_open:
	case SYS_perf_event_open: mine(ev->result, true); break;
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3: copied(ev); break;
	case SYS_fcntl:
		if (A(1) == F_DUPFD || A(1) == F_DUPFD_CLOEXEC)
			copied(ev);
		break;
	case SYS_ioctl:
		if ((unsigned)A(1) == TIOCGPTPEER)
			mine(ev->result, true);
		break;
	case SYS_setsockopt:
		if (joins(ev) && A(0) < NUMBERS)
			own.of[A(0)] = OWN_JOINED;
		break;
	case SYS_recvmsg: received((const void *)A(1)); break;
	case SYS_recvmmsg:
		for (int64_t i = 0; i < ev->result; i++)
			received(&((const struct mmsghdr *)A(1))[i].msg_hdr);
		break;
	case SYS_clone:
	case SYS_clone3: {
		const struct clone_request r = process_clone_request(ev);
		int fd;
		if (r.flags & CLONE_PIDFD && !user_read(&fd, r.pidfd, sizeof(fd)))
			mine(fd, true);
		break;
	}
	case SYS_pipe:
	case SYS_pipe2:
	case SYS_socketpair: {
		const int *ends = (const int *)A(ev->nr == SYS_socketpair ? 3 : 0);
		mine(ends[0], true);
		mine(ends[1], true);
		break;
	}
	}
}

enum own_number own_number(int fd)
{
	return own.of[fd];
}

int64_t own_numbers_highest(void)
{
	return own.highest;
}

static bool is_standard(int which, const struct stat *st)
{
	return st->st_dev == own.standard[which].dev && st->st_ino == own.standard[which].ino;
}

int own_number_standard(int fd, const struct stat *st)
{
	if (fd < 3 && is_standard(fd, st))
		return fd;
	/* a file may be opened again */
	const bool unique = S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode) || isatty(fd);
	for (int which = 0; unique && which < 3; which++)
		if (is_standard(which, st))
			return which;
	return -1;
}
