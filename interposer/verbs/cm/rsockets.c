/* rsockets: a socket API over RDMA.  Here they are TCP sockets; only riomap() shows the difference. */
#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdarg.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cm.h"

EXPORT int rsocket(int domain, int type, int protocol)
{
	return socket(domain, type, protocol);
}

EXPORT int rbind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return bind(fd, addr, len);
}

EXPORT int rlisten(int fd, int backlog)
{
	return listen(fd, backlog);
}

EXPORT int raccept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return accept(fd, addr, len);
}

EXPORT int rconnect(int fd, const struct sockaddr *addr, socklen_t len)
{
	return connect(fd, addr, len);
}

EXPORT int rshutdown(int fd, int how)
{
	return shutdown(fd, how);
}

EXPORT int rclose(int fd)
{
	return close(fd);
}

EXPORT ssize_t rrecv(int fd, void *buf, size_t len, int flags)
{
	return recv(fd, buf, len, flags);
}

EXPORT ssize_t rrecvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	return recvfrom(fd, buf, len, flags, from, from_len);
}

EXPORT ssize_t rrecvmsg(int fd, struct msghdr *msg, int flags)
{
	return recvmsg(fd, msg, flags);
}

EXPORT ssize_t rsend(int fd, const void *buf, size_t len, int flags)
{
	return send(fd, buf, len, flags);
}

EXPORT ssize_t rsendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	return sendto(fd, buf, len, flags, to, to_len);
}

EXPORT ssize_t rsendmsg(int fd, const struct msghdr *msg, int flags)
{
	return sendmsg(fd, msg, flags);
}

EXPORT ssize_t rread(int fd, void *buf, size_t len)
{
	return read(fd, buf, len);
}

EXPORT ssize_t rreadv(int fd, const struct iovec *iov, int n)
{
	return readv(fd, iov, n);
}

EXPORT ssize_t rwrite(int fd, const void *buf, size_t len)
{
	return write(fd, buf, len);
}

EXPORT ssize_t rwritev(int fd, const struct iovec *iov, int n)
{
	return writev(fd, iov, n);
}

EXPORT int rpoll(struct pollfd *fds, nfds_t n, int timeout)
{
	return poll(fds, n, timeout);
}

EXPORT int rselect(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	return select(n, in, out, except, timeout);
}

EXPORT int rgetpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	return getpeername(fd, addr, len);
}

EXPORT int rgetsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	return getsockname(fd, addr, len);
}

EXPORT int rsetsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return level == SOL_RDMA ? 0 : setsockopt(fd, level, name, value, len);
}

EXPORT int rgetsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return level == SOL_RDMA ? cm_fail(ENOPROTOOPT) : getsockopt(fd, level, name, value, len);
}

EXPORT int rfcntl(int fd, int cmd, ...)
{
	va_list ap;
	va_start(ap, cmd);
	long value = va_arg(ap, long);
	va_end(ap);
	return fcntl(fd, cmd, value);
}

EXPORT off_t riomap(int fd, void *buf, size_t len, int prot, int flags, off_t offset)
{
	(void)fd, (void)buf, (void)len, (void)prot, (void)flags, (void)offset;
	return cm_fail(EOPNOTSUPP);
}

EXPORT int riounmap(int fd, void *buf, size_t len)
{
	(void)fd, (void)buf, (void)len;
	return cm_fail(EOPNOTSUPP);
}

EXPORT size_t riowrite(int fd, const void *buf, size_t len, off_t offset, int flags)
{
	(void)fd, (void)buf, (void)len, (void)offset, (void)flags;
	return (size_t)cm_fail(EOPNOTSUPP);
}
