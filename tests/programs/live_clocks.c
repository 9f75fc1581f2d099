/* Clocks that go on after a restart, and deadlines by them. argv[1]: a file whose existence lets it go on;
 * where there is a file `next`, it replaces itself at the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000, SHORT = 30000000 };
enum { TIMES = 15 };
static const clockid_t monotonic[] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME};
static clockid_t of_thread, of_process;
static volatile int slept;
static int bad;

static void check(int right, const char *what, int64_t shown)
{
	if (!right && ++bad)
		printf("wrong: %s (%lld)\n", what, (long long)shown);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t))
		exit(3);
	return t.tv_sec * (int64_t)SECOND + t.tv_nsec;
}

static int64_t raw_ns(clockid_t clock)
{
	struct timespec t;
	if (syscall(SYS_clock_gettime, clock, &t))
		exit(3);
	return t.tv_sec * (int64_t)SECOND + t.tv_nsec;
}

static int64_t of_timeval(struct timeval t)
{
	return t.tv_sec * (int64_t)SECOND + t.tv_usec * 1000;
}

static const char *const names[TIMES] = {
	"CLOCK_MONOTONIC", "CLOCK_MONOTONIC by a call", "CLOCK_MONOTONIC_RAW", "CLOCK_MONOTONIC_COARSE",
	"CLOCK_BOOTTIME", "times()", "sysinfo()", "processor time of the process",
	"processor time of the thread", "its clock", "getrusage()", "times(), user", "times(), children",
	"getrusage(), children", "getrusage(), thread",
};

static void all(int64_t t[TIMES])
{
	struct rusage self, children, thread;
	struct sysinfo info;
	struct tms tms;
	int i = 0;
	t[i++] = clock_ns(CLOCK_MONOTONIC);
	t[i++] = raw_ns(CLOCK_MONOTONIC);
	t[i++] = clock_ns(CLOCK_MONOTONIC_RAW);
	t[i++] = clock_ns(CLOCK_MONOTONIC_COARSE);
	t[i++] = clock_ns(CLOCK_BOOTTIME);
	t[i++] = times(&tms);
	sysinfo(&info);
	t[i++] = info.uptime;
	t[i++] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	t[i++] = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	t[i++] = clock_ns(of_thread);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	getrusage(RUSAGE_THREAD, &thread);
	t[i++] = of_timeval(self.ru_utime);
	t[i++] = tms.tms_utime;
	t[i++] = tms.tms_cutime;
	t[i++] = of_timeval(children.ru_utime);
	t[i++] = of_timeval(thread.ru_utime) + of_timeval(thread.ru_stime);
}

static void compute(int64_t ns)
{
	const int64_t end = raw_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (raw_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static struct timespec in(clockid_t clock, int64_t ns)
{
	const int64_t at = clock_ns(clock) + ns;
	return (struct timespec){at / SECOND, at % SECOND};
}

/* A wait for that long, which began then, is over: not sooner. */
static void waited(clockid_t clock, int64_t began, const char *what)
{
	check(clock_ns(clock) - began >= SHORT, what, clock_ns(clock) - began);
}

static void deadlines(clockid_t clock)
{
	struct itimerspec once = {0};
	struct sigevent none = {.sigev_notify = SIGEV_NONE};
	struct timespec until;
	uint64_t times;
	timer_t timer;
	int64_t began = clock_ns(clock);
	until = in(clock, SHORT);
	check(clock_nanosleep(clock, TIMER_ABSTIME, &until, NULL) == 0, "clock_nanosleep()", clock);
	waited(clock, began, "clock_nanosleep()");

	const int fd = timerfd_create(clock, 0);
	began = clock_ns(clock);
	once.it_value = in(clock, SHORT);
	check(timerfd_settime(fd, TFD_TIMER_ABSTIME, &once, NULL) == 0, "timerfd_settime()", clock);
	check(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1, "timerfd", clock);
	waited(clock, began, "timerfd");
	close(fd);

	began = clock_ns(clock);
	once.it_value = in(clock, SHORT);
	check(timer_create(clock, &none, &timer) == 0, "timer_create()", clock);
	check(timer_settime(timer, TIMER_ABSTIME, &once, NULL) == 0, "timer_settime()", clock);
	do
		usleep(1000), timer_gettime(timer, &once);
	while (once.it_value.tv_sec || once.it_value.tv_nsec);
	waited(clock, began, "timer");
	timer_delete(timer);
}

static void locks(void)
{
	pthread_mutex_t mutex;
	pthread_mutexattr_t inherits;
	pthread_cond_t cond;
	pthread_condattr_t by_monotonic;
	struct timespec until;
	uint32_t word = 0;
	int64_t began;
	pthread_condattr_init(&by_monotonic);
	pthread_condattr_setclock(&by_monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&cond, &by_monotonic);
	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &inherits);
	pthread_mutex_lock(&mutex);
	began = clock_ns(CLOCK_MONOTONIC);
	until = in(CLOCK_MONOTONIC, SHORT);
	check(pthread_cond_timedwait(&cond, &mutex, &until) == ETIMEDOUT, "pthread_cond_timedwait()", 0);
	waited(CLOCK_MONOTONIC, began, "pthread_cond_timedwait()");
	began = clock_ns(CLOCK_MONOTONIC);
	until = in(CLOCK_MONOTONIC, SHORT);
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
	check(errno == ETIMEDOUT, "futex(), FUTEX_WAIT_BITSET", errno);
	waited(CLOCK_MONOTONIC, began, "futex()");
}

static void *sleeps(void *arg)
{
	const struct timespec until = in(of_process, SHORT);
	check(clock_nanosleep(of_process, TIMER_ABSTIME, &until, NULL) == 0, "a sleep by processor time", 0);
	slept = 1;
	return arg;
}

/* The clock has the number that the process had at its start. */
static void by_processor_time(void)
{
	pthread_t t;
	const int64_t began = clock_ns(of_process);
	pthread_create(&t, NULL, sleeps, NULL);
	while (!slept)
		compute(SECOND / 1000);
	check(clock_ns(of_process) - began < SECOND / 5, "the time of that sleep", clock_ns(of_process) - began);
	pthread_join(t, NULL);
}

/* Waits across the restart. */
static void *late(void *arg)
{
	const struct timespec *until = arg;
	check(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, until, NULL) == 0, "a sleep that had begun", 0);
	check(raw_ns(CLOCK_MONOTONIC) >= until->tv_sec * (int64_t)SECOND + until->tv_nsec, "a sleep is over too early", 0);
	return arg;
}

int main(int argc, char **argv)
{
	int64_t before[TIMES], after[TIMES];
	struct itimerspec soon = {0};
	struct timespec until;
	uint64_t times;
	pthread_t t;
	if (argc < 2)
		return 2;
	if (argc == 3) { /* the next program: its process time is what it was */
		check(clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= atoll(argv[2]), "the next program's processor time",
		      clock_ns(CLOCK_PROCESS_CPUTIME_ID));
		puts(bad ? "bad" : "fine");
		return bad;
	}
	pthread_getcpuclockid(pthread_self(), &of_thread);
	clock_getcpuclockid(getpid(), &of_process);
	if (!fork()) {
		compute(SECOND / 10);
		_exit(0);
	}
	wait(NULL);
	compute(SECOND / 4);
	const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	soon.it_value = until = in(CLOCK_MONOTONIC, SECOND);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &soon, NULL);
	pthread_create(&t, NULL, late, &until);
	all(before);
	puts("half");
	fflush(stdout);
	while (access(argv[1], F_OK))
		usleep(10000);
	getppid(); /* here a recording is restarted */
	all(after);
	for (int i = 0; i < TIMES; i++)
		check(after[i] >= before[i], names[i], after[i] - before[i]);
	check(after[0] - before[0] < 3600ll * SECOND, "the time that has passed", after[0] - before[0]);
	for (unsigned i = 0; i < sizeof(monotonic) / sizeof(*monotonic); i++)
		deadlines(monotonic[i]);
	locks();
	by_processor_time();
	check(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1, "a timer that was set", 0);
	pthread_join(t, NULL);
	int status = 0;
	if (!fork())
		_exit(clock_ns(CLOCK_PROCESS_CPUTIME_ID) > SECOND / 10); /* a child begins anew */
	wait(&status);
	check(status == 0, "processor time of a child", status);
	if (access("next", F_OK)) {
		puts(bad ? "bad" : "fine");
		return bad;
	}
	char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID) + bad * 1000ll * SECOND);
	fflush(stdout);
	execl("/proc/self/exe", argv[0], argv[1], text, (char *)NULL);
	return 4;
}
