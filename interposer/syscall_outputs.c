#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "syscall_outputs.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

void out_if(struct event *ev, uint64_t addr, size_t len)
{
	if (addr && len)
		event_out(ev, (void *)addr, len);
}

static void out_iovec(struct event *ev, const struct iovec *iov, size_t n, uint64_t bytes)
{
	for (size_t i = 0; i < n && bytes; i++) {
		size_t len = iov[i].iov_len < bytes ? iov[i].iov_len : bytes;
		out_if(ev, (uint64_t)iov[i].iov_base, len);
		bytes -= len;
	}
}

void out_readv(struct event *ev)
{
	if (ev->result > 0)
		out_iovec(ev, P(1), A(2), (uint64_t)ev->result);
}

void out_recvfrom(struct event *ev)
{
	if (ev->result < 0)
		return;
	out_if(ev, A(1), (uint64_t)ev->result < A(2) ? (uint64_t)ev->result : A(2));
	if (P(4) && P(5)) {
		out_if(ev, A(4), *(socklen_t *)P(5));
		out_if(ev, A(5), sizeof(socklen_t));
	}
}

void out_recvmsg(struct event *ev)
{
	struct msghdr *m = P(1);
	if (ev->result < 0)
		return;
	out_iovec(ev, m->msg_iov, m->msg_iovlen, (uint64_t)ev->result);
	out_if(ev, (uint64_t)m->msg_name, m->msg_namelen);
	out_if(ev, (uint64_t)m->msg_control, m->msg_controllen);
	out_if(ev, (uint64_t)m, sizeof(*m));
}

void out_select(struct event *ev)
{
	size_t bytes = ((size_t)(int)A(0) + 63) / 64 * 8;
	for (unsigned i = 1; i <= 3; i++)
		out_if(ev, A(i), bytes);
	out_if(ev, A(4), 16);
}

void out_mincore(struct event *ev)
{
	if (ev->result == 0)
		out_if(ev, A(2), (A(1) + RDB_PAGE - 1) / RDB_PAGE);
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
	if (ev->result < 0)
		return;
	out_if(ev, A(2), sizeof(siginfo_t));
	out_if(ev, A(4), 144);
}

void out_getres(struct event *ev)
{
	for (unsigned i = 0; i < 3; i++)
		out_if(ev, A(i), 4);
}

void out_capget(struct event *ev)
{
	out_if(ev, A(0), 8);
	if (ev->result == 0)
		out_if(ev, A(1), 24);
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
	out_if(ev, A(1), 8);
	out_if(ev, A(3), 8);
}

void out_fcntl(struct event *ev)
{
	if (ev->result < 0)
		return;
	if (A(1) == F_GETLK || A(1) == 36 /* F_OFD_GETLK */)
		out_if(ev, A(2), 32);
	else if (A(1) == 16 /* F_GETOWN_EX */)
		out_if(ev, A(2), 8);
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

/* ioctl_list(2), asm-generic/ioctl.h: newer requests carry direction and size */
void out_ioctl(struct event *ev)
{
	unsigned req = (unsigned)A(1);
	switch (req) {
	case 0x5401: /* TCGETS */
		if (ev->result >= 0)
			out_if(ev, A(2), 36);
		return;
	case 0x5413: /* TIOCGWINSZ */
		if (ev->result >= 0)
			out_if(ev, A(2), 8);
		return;
	case 0x541B: /* FIONREAD */
	case 0x540F: /* TIOCGPGRP */
	case 0x5429: /* TIOCGSID */
	case 0x5411: /* TIOCOUTQ */
		if (ev->result >= 0)
			out_if(ev, A(2), 4);
		return;
	case 0x5402:
	case 0x5403:
	case 0x5404: /* TCSETS, TCSETSW, TCSETSF */
	case 0x5409:
	case 0x540A:
	case 0x540B: /* TCSBRK, TCXONC, TCFLSH */
	case 0x5410:
	case 0x5414: /* TIOCSPGRP, TIOCSWINSZ */
	case 0x540C:
	case 0x540D:
	case 0x540E:
	case 0x5422: /* TIOCEXCL, TIOCNXCL, TIOCSCTTY, TIOCNOTTY */
	case 0x5425:
	case 0x5441: /* TCSBRKP; TIOCGPTPEER, whose answer is a descriptor */
	case 0x5421:
	case 0x5450:
	case 0x5451: /* FIONBIO, FIONCLEX, FIOCLEX */ return;
	case 0x8912: { /* SIOCGIFCONF: struct ifconf, netdevice(7) */
		const struct {
			int len;
			uint64_t buf;
		} *conf = P(2);
		if (ev->result < 0)
			return;
		out_if(ev, conf->buf, (size_t)conf->len);
		out_if(ev, A(2), 16);
		return;
	}
	default:
		if (req >= 0x8910 && req < 0x8990) { /* other SIOC requests: struct ifreq */
			if (ev->result >= 0)
				out_if(ev, A(2), 40);
			return;
		}
		if (req >> 30 & 2) /* _IOC_READ */
			out_if(ev, A(2), req >> 16 & 0x3fff);
		else if (!(req >> 30) && ev->result >= 0 && !lower.opt.lax)
			rdb_fatal("the program makes an ioctl that is not supported yet: request %#x; "
				  "--lax records it all the same",
				  req);
	}
}

void out_prctl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(0)) {
	case PR_GET_NAME: out_if(ev, A(1), 16); return;
	case PR_GET_PDEATHSIG:
	case PR_GET_TSC:
	case PR_GET_CHILD_SUBREAPER:
	case PR_GET_ENDIAN: out_if(ev, A(1), 4);
	}
}
