/* interposer/restart/process/timers.c and posix_timers.c by themselves: what is left of a timer at a cut, by the log's times. */
#include "restart/process/timers.c"
#define timers posix
#define begin posix_begin
#include "restart/process/posix_timers.c"
#undef timers
#undef begin

static const uint64_t ms = 1000000;
static struct log_record record;
static struct itimerval saved[TIMERS];
static struct posix_timer posix_saved[POSIX_TIMERS];
static bool branch;
static int failures;

#define CHECK(holds) \
	do { \
		if (!(holds)) { \
			printf("line %d: %s\n", __LINE__, #holds); \
			failures++; \
		} \
	} while (0)

const struct log_record *replay_record(void)
{
	return &record;
}

uint64_t replay_begun_ns(void)
{
	return 500 * ms;
}

uint64_t replay_now_ns(void)
{
	return record.at_ns;
}

void branch_file_save(const char *name, const void *bytes, size_t len)
{
	memcpy(!strcmp(name, "timers") ? (void *)saved : posix_saved, bytes, len);
}

size_t branch_file_load(const char *name, void *into, size_t room, size_t one)
{
	const bool posix_ones = strcmp(name, "timers");
	if (!branch)
		return 0;
	memcpy(into, posix_ones ? (void *)posix_saved : saved, posix_ones ? one : room);
	return posix_ones ? one : room;
}

void live_refuse(const char *fmt, ...)
{
	puts(fmt);
	exit(2);
}

bool signalfd_got(const struct event *ev, unsigned i, struct signalfd_siginfo *one)
{
	return ev && i && one && false;
}

static struct itimerval of_ms(unsigned value, unsigned every)
{
	return (struct itimerval){.it_value = {value / 1000, value % 1000 * 1000},
				  .it_interval = {every / 1000, every % 1000 * 1000}};
}

static void set(int which, unsigned at_ms, unsigned value, unsigned every)
{
	const struct itimerval t = of_ms(value, every);
	static struct event ev;
	ev = (struct event){.nr = SYS_setitimer, .args = {(uint64_t)which, (uint64_t)&t}};
	record.at_ns = at_ms * ms;
	timers_syscall(&ev);
}

static long left_us(int which, unsigned at_ms)
{
	timers_save(at_ms * ms);
	return saved[which].it_value.tv_sec * 1000000 + saved[which].it_value.tv_usec;
}

static void interval_timers(void)
{
	struct event ev = {.nr = SYS_alarm, .args = {3}};
	memset(&timers, 0, sizeof(timers));
	CHECK(left_us(ITIMER_REAL, 2000) == 0 && left_us(ITIMER_PROF, 2000) == 0);
	set(ITIMER_REAL, 1000, 2500, 0);
	CHECK(left_us(ITIMER_REAL, 2200) == 1300000);
	set(ITIMER_REAL, 1000, 2500, 0);
	CHECK(left_us(ITIMER_REAL, 3500) == 1); /* its signal is on its way */
	set(ITIMER_REAL, 1000, 2500, 0);
	CHECK(left_us(ITIMER_REAL, 900) == 2500000);
	set(ITIMER_REAL, 1000, 2500, 0);
	timers_delivered(SIGVTALRM);
	timers_delivered(SIGALRM);
	CHECK(left_us(ITIMER_REAL, 4000) == 0);
	set(ITIMER_REAL, 1000, 2500, 0); /* somebody else's SIGALRM: it is too early for its own */
	timers_delivered(SIGALRM);
	CHECK(left_us(ITIMER_REAL, 2000) == 1500000);
	set(ITIMER_REAL, 1000, 2500, 400);
	timers_delivered(SIGALRM);
	CHECK(left_us(ITIMER_REAL, 4000) == 300000); /* 3.5, 3.9, 4.3 */
	CHECK(saved[ITIMER_REAL].it_interval.tv_usec == 400000);
	set(ITIMER_PROF, 1000, 2500, 0);
	CHECK(left_us(ITIMER_PROF, 9000) == 2500000); /* of processor time, which is not known */
	set(ITIMER_PROF, 1000, 2500, 0);
	timers_delivered(SIGPROF);
	CHECK(left_us(ITIMER_PROF, 2000) == 0);
	set(ITIMER_REAL, 1000, 0, 0);
	set(ITIMER_PROF, 1000, 2500, 0);
	timers_delivered(SIGPROF);
	timers_delivered(SIGUSR1);
	CHECK(left_us(ITIMER_REAL, 2000) == 0 && left_us(ITIMER_PROF, 2000) == 0);
	set(ITIMER_PROF, 1000, 2500, 0); /* again */
	CHECK(left_us(ITIMER_PROF, 2000) == 2500000);
	set(ITIMER_PROF, 1000, 0, 0);
	set(ITIMER_REAL, 1000, 2500, 0);
	timers_delivered(SIGALRM);
	record.at_ns = 5000 * ms;
	timers_syscall(&ev);
	CHECK(left_us(ITIMER_REAL, 6000) == 2000000 && !saved[ITIMER_REAL].it_interval.tv_usec);
	set(ITIMER_REAL, 1000, 0, 0);
	CHECK(left_us(ITIMER_REAL, 2000) == 0);
	ev = (struct event){.nr = SYS_setitimer, .args = {ITIMER_REAL, 0}}; /* only asked for what there is */
	set(ITIMER_REAL, 1000, 2500, 0);
	timers_syscall(&ev);
	const struct itimerval longest = {.it_value = {INT64_MAX, 999999}}; /* longer than nanoseconds can say */
	ev = (struct event){.nr = SYS_setitimer, .args = {ITIMER_REAL, (uint64_t)&longest}};
	timers_syscall(&ev);
	CHECK(left_us(ITIMER_REAL, 2000) > 9000000000000000);
	branch = true;
	saved[ITIMER_REAL] = of_ms(700, 0);
	memset(&timers, 0, sizeof(timers));
	CHECK(left_us(ITIMER_REAL, 600) == 600000); /* since the branch began */
	branch = false;
}

/* ---- timer_create(2) ---- */

enum { ID = 7 };

static void call(uint32_t nr, unsigned at_ms, uint64_t a, uint64_t b, uint64_t c, int64_t result)
{
	static struct event ev;
	ev = (struct event){.nr = nr, .args = {a, b, c}, .result = result};
	record.at_ns = at_ms * ms;
	posix_timers_syscall(&ev);
}

static void create(clockid_t clock, int notify, unsigned at_ms, unsigned value, unsigned every, bool absolute)
{
	static const int32_t id = ID;
	const struct sigevent how = {.sigev_notify = notify, .sigev_signo = SIGUSR1};
	const struct itimerspec t = {.it_value = {value / 1000, value % 1000 * (long)ms},
				     .it_interval = {every / 1000, every % 1000 * (long)ms}};
	memset(&posix, 0, sizeof(posix));
	call(SYS_timer_create, at_ms, (uint64_t)clock, (uint64_t)&how, (uint64_t)&id, 0);
	call(SYS_timer_settime, at_ms, ID, absolute ? TIMER_ABSTIME : 0, (uint64_t)&t, 0);
}

static void arrives(unsigned at_ms, int sig, int id)
{
	const siginfo_t info = {.si_signo = sig, .si_code = SI_TIMER, .si_timerid = id};
	record.at_ns = at_ms * ms;
	posix_timers_delivered(&info);
}

static long posix_left_us(unsigned at_ms)
{
	posix_timers_save(at_ms * ms);
	return (long)(to_ns(&posix_saved[0].set.it_value) / 1000);
}

static void timers_by_number(void)
{
	static const int32_t other = ID + 1;
	const struct itimerspec again = {.it_value.tv_sec = 1};
	const siginfo_t sent = {.si_signo = SIGUSR1, .si_code = SI_QUEUE, .si_timerid = ID};
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	CHECK(posix_left_us(2000) == 1500000 && posix_saved[0].id == ID && posix_saved[0].sig == SIGUSR1);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	CHECK(posix_left_us(3500) == 0 && posix_saved[0].set.it_value.tv_nsec == 1); /* its signal is on its way */
	create(CLOCK_MONOTONIC, SIGEV_NONE, 1000, 2500, 0, false);
	CHECK(posix_left_us(3500) == 0 && posix_saved[0].set.it_value.tv_nsec == 0);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	arrives(3400, SIGUSR1, ID + 1);
	arrives(3400, SIGUSR2, ID);
	CHECK(posix_left_us(3500) == 0 && posix_saved[0].set.it_value.tv_nsec == 1);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	arrives(3500, SIGUSR1, ID);
	CHECK(posix_left_us(3600) == 0 && posix_saved[0].set.it_value.tv_nsec == 0);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	arrives(3500, SIGUSR1, ID);
	call(SYS_timer_settime, 4000, ID, 0, (uint64_t)&again, 0);
	CHECK(posix_left_us(4500) == 500000);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	posix_timers_delivered(&sent);
	call(SYS_rt_sigtimedwait, 3400, 0, 0, 0, SIGUSR2);
	CHECK(posix_left_us(3500) == 0 && posix_saved[0].set.it_value.tv_nsec == 1);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 400, false);
	CHECK(posix_left_us(4000) == 300000);
	create(CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL, 1000, 2500, 400, false);
	CHECK(posix_left_us(4000) == 2500000);
	create(CLOCK_THREAD_CPUTIME_ID, SIGEV_SIGNAL, 1000, 2500, 400, false);
	arrives(3500, SIGUSR1, ID);
	CHECK(posix_left_us(4000) == 400000);
	create(CLOCK_REALTIME, SIGEV_SIGNAL, 1000, 9000, 400, true);
	CHECK(posix_left_us(4000) == 9000000 && posix_saved[0].absolute);
	create(CLOCK_REALTIME, SIGEV_SIGNAL, 1000, 2500, 400, true);
	arrives(3500, SIGUSR1, ID);
	CHECK(posix_left_us(4000) == 300000 && !posix_saved[0].absolute);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	call(SYS_timer_create, 1100, CLOCK_MONOTONIC, 0, (uint64_t)&other, 0);
	CHECK(posix.list[1].sig == SIGALRM && posix.list[1].value == ID + 1);
	call(SYS_timer_delete, 1200, ID, 0, 0, 0);
	CHECK(posix.n == 1 && posix.list[0].id == ID + 1);
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	call(SYS_rt_sigtimedwait, 3500, 0, 0, 0, SIGUSR1); /* did not ask what it was */
	CHECK(posix_left_us(3600) == 0 && posix_saved[0].set.it_value.tv_nsec == 0);
	const struct itimerspec longest = {.it_value = {INT64_MAX, 999999999}};
	create(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1000, 2500, 0, false);
	call(SYS_timer_settime, 1000, ID, 0, (uint64_t)&longest, 0);
	CHECK(posix_left_us(2000) > 9000000000000000);
	branch = true;
	posix_saved[0] = (struct posix_timer){.id = ID, .notify = SIGEV_SIGNAL, .set.it_value.tv_nsec = 700 * (long)ms};
	memset(&posix, 0, sizeof(posix));
	CHECK(posix_left_us(600) == 600000);
}

int main(void)
{
	interval_timers();
	timers_by_number();
	puts(failures ? "failed" : "ok");
	return failures != 0;
}
