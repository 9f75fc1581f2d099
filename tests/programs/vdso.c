/* The functions of the vDSO, each compared with the system call and with the others.  Exits with the number of
 * the first comparison that fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double of(const struct timespec *ts)
{
	return (double)ts->tv_sec + 1e-9 * (double)ts->tv_nsec;
}

static int close_to(const struct timespec *before, const struct timespec *after)
{
	double took = of(after) - of(before);
	return took >= -0.1 && took < 60 && after->tv_nsec >= 0 && after->tv_nsec < 1000000000;
}

/* More than a system call's function has to do, but a replay could show a difference otherwise. */
static int vectors_kept(void)
{
	struct timespec ts;
	for (unsigned long i = 1; i <= 500; i++) {
		unsigned long put = i * 0x123456789abcdeful, got;
		__asm__ volatile("movq %0, %%xmm13" : : "r"(put) : "xmm13");
		clock_gettime(CLOCK_MONOTONIC, &ts);
		__asm__ volatile("movq %%xmm13, %0" : "=r"(got));
		if (got != put)
			return 0;
	}
	return 1;
}

int main(void)
{
	static const clockid_t ids[] = {
		CLOCK_REALTIME,      CLOCK_MONOTONIC,       CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
		CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_BOOTTIME,           CLOCK_TAI};
	struct timespec called, asked, real;
	struct timeval tv, with_zone;
	struct timezone zone = {1, 1};

	if (!getauxval(AT_SYSINFO_EHDR))
		return 1;
	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		if (syscall(SYS_clock_gettime, ids[i], &called) || clock_gettime(ids[i], &asked))
			return 2;
		if (!close_to(&called, &asked))
			return 3;
	}
	errno = 0;
	if (clock_gettime(12345, &asked) != -1 || errno != EINVAL)
		return 4;
	clock_gettime(CLOCK_REALTIME, &real);
	if (gettimeofday(&tv, NULL) || gettimeofday(&with_zone, &zone))
		return 5;
	called = (struct timespec){tv.tv_sec, tv.tv_usec * 1000};
	asked = (struct timespec){with_zone.tv_sec, with_zone.tv_usec * 1000};
	if (!close_to(&real, &called) || !close_to(&called, &asked))
		return 6;
	time_t stored = 0, now = time(&stored);
	if (now != stored || now < real.tv_sec - 1 || now > real.tv_sec + 60)
		return 7;
	/* an address inside it belongs to no file, and asking does no harm */
	Dl_info info;
	dladdr((void *)getauxval(AT_SYSINFO_EHDR), &info);
	for (int i = 0; i < 1000; i++) {
		struct timespec before = asked;
		clock_gettime(CLOCK_MONOTONIC, &asked);
		if (i && of(&asked) < of(&before))
			return 8;
	}
	if (!vectors_kept())
		return 9;
	printf("%ld.%09ld\n", (long)real.tv_sec, real.tv_nsec);
	return 0;
}
