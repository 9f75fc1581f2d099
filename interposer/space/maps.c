#include "space/maps.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "arch/syscall.h"

static uint64_t hex(const char **p)
{
	uint64_t v = 0;
	for (;; (*p)++) {
		char c = **p;
		if (c >= '0' && c <= '9')
			v = v * 16 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

struct mapping maps_parse(const char *p)
{
	struct mapping m = {0};
	m.start = hex(&p);
	p++;
	m.end = hex(&p);
	p++;
	m.prot = (p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) | (p[2] == 'x' ? PROT_EXEC : 0);
	m.shared = p[3] == 's';
	p += 5;
	m.offset = hex(&p);
	p++;
	uint64_t major = hex(&p);
	p++;
	m.dev = major << 20 | hex(&p);
	p++;
	for (; *p >= '0' && *p <= '9'; p++)
		m.inode = m.inode * 10 + (uint64_t)(*p - '0');
	m.anonymous = m.inode == 0;
	return m;
}

int maps_lines(int fd, int (*fn)(const char *line, void *arg), void *arg)
{
	char buf[8192];
	size_t have = 0;
	long n;
	while ((n = raw_syscall(SYS_read, fd, (long)(buf + have), (long)(sizeof(buf) - have), 0, 0, 0)) > 0) {
		char *line = buf, *nl;
		have += (size_t)n;
		while ((nl = memchr(line, '\n', have - (size_t)(line - buf)))) {
			*nl = 0;
			const int rc = fn(line, arg);
			if (rc)
				return rc == MAPS_END ? 0 : rc;
			line = nl + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
	}
	return (int)n;
}
