#include "base/clocks.h"
#include <stdio.h>
#include <string.h>
#include "base/crc32c.h"
#include "base/descriptors.h"

void clocks_which(char out[CLOCKS_WHICH])
{
	char boot[37], offsets[256]; /* no such file: a kernel without time namespaces */
	descriptor_text("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	descriptor_text("/proc/self/timens_offsets", offsets, sizeof(offsets));
	snprintf(out, CLOCKS_WHICH, "%s-%08x", boot, crc32c(0, offsets, strlen(offsets)));
}
