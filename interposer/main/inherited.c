#include "main/inherited.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/descriptors.h"
#include "task/signals.h"

/* proc(5), /proc/pid/fdinfo: only a signalfd has this line.  0: it is none. */
static uint64_t reads_signals(const char *number)
{
	static const char line[] = "\nsigmask:\t";
	char path[300], info[512];
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", number);
	descriptor_text(path, info, sizeof(info));
	const char *mask = strstr(info, line);
	return mask ? strtoul(mask + strlen(line), NULL, 16) : 0;
}

void inherited_signalfds(void)
{
	uint64_t set = 0;
	DIR *d = opendir("/proc/self/fdinfo");
	for (const struct dirent *e; d && (e = readdir(d));)
		set |= *e->d_name == '.' ? 0 : reads_signals(e->d_name);
	if (d)
		closedir(d);
	if (set)
		signals_by_descriptor(set, false);
}
