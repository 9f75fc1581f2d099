#include "task/file_readers.h"
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "base/lower.h"
#include "base/monotonic.h"
#include "space/rank_files.h"
#include "space/sole_owner.h"
#include "task/envoy.h"
#include "task/signals.h"

enum { LONGEST_NS = 200000000, STEP_NS = 100000 };

static void tell(uint32_t pid)
{
	siginfo_t info = {
		.si_signo = SIGNALS_REMINDER, .si_code = SI_QUEUE, .si_value.sival_ptr = (void *)SIGNALS_FILES};
	if (is_recorded(pid)) /* the signal would end any other program */
		raw_syscall(SYS_rt_sigqueueinfo, pid, SIGNALS_REMINDER, (long)&info, 0, 0, 0);
}

void file_readers_stop(const struct stat *st)
{
	if (!rank_file_opened(st->st_dev, st->st_ino, tell))
		return;
	/* A reader may be waiting for floors that this process has.  Longer than this one waits only if it is stopped:
	 * then the signal is the first that it sees. */
	const uint64_t until = monotonic_ns() + LONGEST_NS;
	const struct timespec step = {.tv_nsec = STEP_NS};
	if (lower.shares)
		envoy_lend();
	while (!rank_file_seen(st->st_dev, st->st_ino) && monotonic_ns() < until)
		raw_syscall(SYS_nanosleep, (long)&step, 0, 0, 0, 0, 0);
	if (lower.shares)
		envoy_return();
}
