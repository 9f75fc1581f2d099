#include "answer/clock.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include "interface/gate.h"
#include "base/lower.h"
#include "crossing/clock_row.h"
#include "answer/clock_calls.h"
#include "task/clock_ids.h"
#include "task/polling.h"

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;
	if (clock_gettime(clock, &ts))
		return -errno;
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Finds clock_gettime of the kernel's vDSO: it uses general registers only, while libc's wrapper may use others. */
static bool find_kernel_clock(void)
{
	static bool looked;
	if (!looked) {
		void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_LAZY);
		looked = true;
		if (vdso)
			clock_fast_.read = (int (*)(clockid_t, struct timespec *))dlsym(vdso, "__vdso_clock_gettime");
	}
	return clock_fast_.read != NULL;
}

/* True if nothing needs to happen at every event, or at an event of a certain number. */
static bool may_be_fast(void)
{
	return recording() && lower.started && !lower.opt.hash_every && lower.opt.checkpoint_every.unit == LIMIT_NONE &&
	       !counter_traps() && find_kernel_clock();
}

void clock_fast_if_possible(void)
{
	clock_fast_.more_ns[CLOCK_MONOTONIC] = lower.clocks.monotonic;
	clock_fast_.unrecorded = passing() && find_kernel_clock();
	if (!may_be_fast())
		return;
	clock_fast_.ahead_ns[CLOCK_MONOTONIC] = (uint64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC) -
							   lower.clocks.monotonic);
	clock_fast_again();
}

int64_t clock_call(uint32_t fn, const uint64_t *args)
{
	if (fn != RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK))
		return -ENOSYS;
	clock_row_goes_on(args[0]);
	int64_t ns = clock_ns(clock_id_now((clockid_t)args[0]));
	if (ns >= 0) /* else -errno */
		ns += clock_ahead((clockid_t)args[0]);
	ns = polling_clock(args[0], ns);
	clock_fast_if_possible();
	return ns;
}
