#include <errno.h>
#include <time.h>
#include "clock.h"
#include "gate.h"

int64_t clock_call(uint32_t fn, const uint64_t *args)
{
	struct timespec ts;
	if (fn != RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK))
		return -ENOSYS;
	if (clock_gettime((clockid_t)args[0], &ts))
		return -errno;
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}
