#include "task/waited.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include "base/guarded_copy.h"
#include "task/newer_calls.h"

static const int64_t SECOND = 1000000000;

static int64_t rest(int64_t ns, uint64_t waited_ns)
{
	return ns > (int64_t)waited_ns ? ns - (int64_t)waited_ns : 0;
}

static void milliseconds(uint64_t *arg, uint64_t waited_ns)
{
	if ((int)*arg > 0)
		*arg = (uint64_t)((rest((int)*arg * 1000000l, waited_ns) + 999999) / 1000000);
}

/* A timespec, or (unit 1000) a timeval. */
static void seconds(uint64_t *arg, int64_t unit, uint64_t waited_ns, struct timespec *left)
{
	struct timespec given;
	if (!*arg || guarded_copy(&given, (const void *)*arg, sizeof(given)) < sizeof(given))
		return;
	if (given.tv_sec < 0 || given.tv_sec > INT32_MAX || given.tv_nsec < 0 || given.tv_nsec >= SECOND / unit)
		return;
	const int64_t ns = rest(given.tv_sec * SECOND + given.tv_nsec * unit, waited_ns);
	*left = (struct timespec){ns / SECOND, ns % SECOND / unit};
	*arg = (uint64_t)left;
}

static bool futex_waits(long nr, const uint64_t args[6])
{
	const int op = (int)args[1] & FUTEX_CMD_MASK;
	return nr == SYS_futex && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET);
}

/* clock_nanosleep(2): a relative sleep, by a clock that does not stand still meanwhile */
static bool for_a_while(const uint64_t args[6])
{
	const int clock = (int)args[0];
	return !(args[1] & TIMER_ABSTIME) && clock >= 0 && clock != CLOCK_PROCESS_CPUTIME_ID;
}

void waited_since(long nr, uint64_t args[6], uint64_t waited_ns, struct timespec *left)
{
	switch (nr) {
	case SYS_futex:
		if (((int)args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
			seconds(&args[3], 1, waited_ns, left);
		break;
	case SYS_nanosleep: seconds(&args[0], 1, waited_ns, left); break;
	case SYS_clock_nanosleep:
		if (for_a_while(args))
			seconds(&args[2], 1, waited_ns, left);
		break;
	case SYS_poll: milliseconds(&args[2], waited_ns); break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait: milliseconds(&args[3], waited_ns); break;
	case SYS_ppoll:
	case SYS_rt_sigtimedwait: seconds(&args[2], 1, waited_ns, left); break;
	case SYS_epoll_pwait2:
	case SYS_semtimedop: seconds(&args[3], 1, waited_ns, left); break;
	case SYS_recvmmsg:
	case SYS_pselect6: seconds(&args[4], 1, waited_ns, left); break;
	case SYS_select: seconds(&args[4], 1000, waited_ns, left); break;
	}
}

bool waited_ends(long nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_poll: return (int)args[2] > 0;
	case SYS_epoll_wait:
	case SYS_epoll_pwait: return (int)args[3] > 0;
	case SYS_nanosleep:
	case SYS_clock_nanosleep: return true;
	case SYS_ppoll:
	case SYS_rt_sigtimedwait: return args[2] != 0;
	case SYS_futex:
	case SYS_epoll_pwait2:
	case SYS_semtimedop: return args[3] != 0;
	case SYS_recvmmsg:
	case SYS_pselect6:
	case SYS_select: return args[4] != 0;
	default: return false;
	}
}

unsigned waited_told(long nr)
{
	return nr == SYS_select || nr == SYS_pselect6 || nr == SYS_recvmmsg ? 4 : nr == SYS_ppoll ? 2 : 0;
}

unsigned waited_rest(long nr, const uint64_t args[6])
{
	if (nr == SYS_clock_nanosleep)
		return for_a_while(args) && args[3] ? 3 : 0;
	return nr == SYS_nanosleep && args[1] ? 1 : 0;
}

bool waited_before(const struct event *ev, uint64_t args[6], struct timespec *left)
{
	/* It is not known whether the thread was woken before the cut: the program looks again (futex(2), spurious
	 * wake-ups). */
	if (futex_waits(ev->nr, args))
		return true;
	if (!waited_told(ev->nr))
		waited_since(ev->nr, args, ev->waited_ns, left);
	return false;
}
