#include "task/message_staging.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include "base/user.h"

enum { LARGEST = 32 << 20, MOST = 1024 };

static void *take(struct message_staging *b, size_t len)
{
	char *at = b->room + b->used;
	if (len > LARGEST - b->used)
		return NULL;
	b->used += (len + 15) & ~15ul;
	return at;
}

/* Memory for what the kernel writes there.  NULL stays NULL. */
static bool copy_of(struct message_staging *b, void **at, size_t len)
{
	if (!*at)
		return true;
	if (len && !user_writable((uint64_t)*at, len))
		return false;
	*at = take(b, len);
	return *at;
}

static bool vector_in(struct message_staging *b, struct msghdr *m, struct msghdr *given)
{
	const size_t n = m->msg_iovlen, len = n * sizeof(struct iovec);
	struct iovec *parts = n <= MOST ? take(b, len) : NULL, *theirs = n <= MOST ? take(b, len) : NULL;
	if (!parts || !theirs || user_read(parts, (uint64_t)m->msg_iov, len))
		return false;
	memcpy(theirs, parts, len);
	for (size_t i = 0; i < n; i++)
		if (!copy_of(b, &parts[i].iov_base, parts[i].iov_len))
			return false;
	m->msg_iov = parts;
	given->msg_iov = theirs;
	return true;
}

static bool message_in(struct message_staging *b, struct msghdr *m, struct msghdr *given)
{
	*given = *m;
	return vector_in(b, m, given) && copy_of(b, &m->msg_name, m->msg_namelen) &&
	       copy_of(b, &m->msg_control, m->msg_controllen);
}

static size_t header(long nr)
{
	return nr == SYS_recvmsg ? sizeof(struct msghdr) : sizeof(struct mmsghdr);
}

static bool messages_in(struct message_staging *b, unsigned n)
{
	b->copies = n && n <= MOST ? take(b, n * sizeof(*b->copies)) : NULL;
	b->given = b->copies ? take(b, n * sizeof(*b->given)) : NULL;
	if (!b->given || !user_writable(b->args[1], n * header(b->nr)))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (user_read(&b->copies[i], b->args[1] + i * header(b->nr), header(b->nr)) ||
		    !message_in(b, &b->copies[i].msg_hdr, &b->given[i]))
			return false;
	return true;
}

static bool all_in(struct message_staging *b, uint64_t own[6])
{
	void *at;
	switch (b->nr) {
	case SYS_recvfrom: /* the sender of a stream is known: few ask */
		at = (void *)own[1];
		if (own[4] || !copy_of(b, &at, own[2]))
			return false;
		own[1] = (uint64_t)at;
		return true;
	case SYS_recvmsg:
		if (!messages_in(b, 1))
			return false;
		own[1] = (uint64_t)b->copies;
		return true;
	default: /* recvmmsg */
		at = (void *)own[4];
		if (!messages_in(b, (unsigned)own[2]) || !copy_of(b, &at, sizeof(struct timespec)) ||
		    (at && user_read(at, own[4], sizeof(struct timespec))))
			return false;
		own[1] = (uint64_t)b->copies;
		own[4] = (uint64_t)at;
		return true;
	}
}

int message_staging_in(struct message_staging *b, long nr, const uint64_t args[6], uint64_t own[6])
{
	b->nr = nr;
	memcpy(b->args, args, sizeof(b->args));
	memcpy(own, args, sizeof(b->args));
	b->used = 0;
	b->room = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->room == MAP_FAILED)
		return -ENOMEM;
	if (all_in(b, own))
		return 0;
	munmap(b->room, LARGEST);
	return -EFAULT;
}

static bool out(void *to, const void *from, size_t len)
{
	return !to || !len || !user_write((uint64_t)to, from, len);
}

static bool message_out(const struct msghdr *m, const struct msghdr *given, size_t bytes)
{
	const size_t name_len = m->msg_namelen < given->msg_namelen ? m->msg_namelen : given->msg_namelen;
	for (size_t i = 0; i < m->msg_iovlen && bytes; i++) {
		const size_t len = m->msg_iov[i].iov_len, n = len < bytes ? len : bytes;
		if (!out(given->msg_iov[i].iov_base, m->msg_iov[i].iov_base, n))
			return false;
		bytes -= n;
	}
	return out(given->msg_name, m->msg_name, name_len) &&
	       out(given->msg_control, m->msg_control, m->msg_controllen);
}

/* Of the header the kernel writes these members only. */
static bool header_out(const struct message_staging *b, unsigned i)
{
	struct mmsghdr *to = (void *)(b->args[1] + i * header(b->nr));
	const struct mmsghdr *m = &b->copies[i];
	return out(&to->msg_hdr.msg_namelen, &m->msg_hdr.msg_namelen, sizeof(m->msg_hdr.msg_namelen)) &&
	       out(&to->msg_hdr.msg_controllen, &m->msg_hdr.msg_controllen, sizeof(m->msg_hdr.msg_controllen)) &&
	       out(&to->msg_hdr.msg_flags, &m->msg_hdr.msg_flags, sizeof(m->msg_hdr.msg_flags)) &&
	       (b->nr == SYS_recvmsg || out(&to->msg_len, &m->msg_len, sizeof(m->msg_len)));
}

static bool messages_out(const struct message_staging *b, unsigned n, long bytes)
{
	for (unsigned i = 0; i < n; i++)
		if (!message_out(&b->copies[i].msg_hdr, &b->given[i],
				 b->nr == SYS_recvmsg ? (size_t)bytes : b->copies[i].msg_len) ||
		    !header_out(b, i))
			return false;
	return true;
}

long message_staging_out(struct message_staging *b, const uint64_t own[6], long result)
{
	bool fine = true;
	switch (result < 0 ? -1 : b->nr) {
	case SYS_recvfrom: fine = out((void *)b->args[1], (void *)own[1], (size_t)result); break;
	case SYS_recvmsg: fine = messages_out(b, 1, result); break;
	case SYS_recvmmsg:
		fine = messages_out(b, (unsigned)result, 0) &&
		       (!result || out((void *)b->args[4], (void *)own[4], sizeof(struct timespec)));
		break;
	}
	munmap(b->room, LARGEST);
	return fine ? result : -EFAULT;
}
