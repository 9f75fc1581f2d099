#include "main/inherited.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "task/signals.h"

/* proc(5), /proc/pid/fdinfo: only a signalfd has this line.  0: it is none. */
static uint64_t reads_signals(int dir, const char *name)
{
	static const char line[] = "\nsigmask:\t";
	char info[512] = "";
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	const ssize_t n = read(fd, info, sizeof(info) - 1);
	close(fd);
	const char *mask = n > 0 ? strstr(info, line) : NULL;
	return mask ? strtoul(mask + strlen(line), NULL, 16) : 0;
}

void inherited_signalfds(void)
{
	uint64_t set = 0;
	DIR *d = opendir("/proc/self/fdinfo");
	for (const struct dirent *e; d && (e = readdir(d));)
		set |= *e->d_name == '.' ? 0 : reads_signals(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	if (set)
		signals_by_descriptor(set, false);
}
