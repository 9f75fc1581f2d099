/* Runs out of stack with a handler for it: stack_overflow WHERE HOW.  WHERE: main, thread.  HOW: plain, alternate, small (an
 * alternate stack that has no room), timer (another signal finds no room), timer-alternate. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static const char *how;
static volatile int depth;

/* The first call of a function of libc would need more stack than may be left. */
static long call(long nr, long a, long b, long c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}

static void handler(int sig)
{
	(void)sig;
	if (call(SYS_write, 1, (long)"handled\n", 8) == 8)
		call(SYS_exit_group, 7, 0, 0);
}

__attribute__((noinline)) static int deeper(int n)
{
	volatile char room[4096];
	memset((char *)room, n, sizeof(room));
	depth = n;
	return n < 0 ? 0 : deeper(n + 1) + room[n % 4096];
}

/* On a stack of a thread that is nearly used up: what is left is too little for a frame. */
static void wait_at_the_end(void)
{
	pthread_attr_t attr;
	void *low;
	size_t size;
	struct itimerval soon = {.it_value = {.tv_usec = 1000}};
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	setitimer(ITIMER_REAL, &soon, NULL);
	register long size_of_set __asm__("r10") = 8;
	__asm__ volatile("mov %0, %%rsp; syscall\n1: jmp 1b" /* heard from here on only */
			 :
			 : "b"((char *)low + 256), "a"(SYS_rt_sigprocmask), "D"(SIG_UNBLOCK), "S"(&set), "d"(NULL),
			   "r"(size_of_set)
			 : "rcx", "r11", "memory");
}

static void *overflows(void *arg)
{
	static char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = strcmp(how, "small") ? sizeof(room) : 2048};
	if (strcmp(how, "plain") && strcmp(how, "timer"))
		sigaltstack(&stack, NULL);
	if (!strncmp(how, "timer", 5))
		wait_at_the_end();
	deeper(1);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = handler};
	sigset_t set;
	pthread_t t;
	if (argc != 3)
		return 99;
	how = argv[2];
	if (strcmp(how, "plain") && strcmp(how, "timer"))
		sa.sa_flags = SA_ONSTACK;
	sigaction(SIGSEGV, &sa, NULL);
	sa.sa_flags = 0;
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!strcmp(argv[1], "main"))
		overflows(NULL);
	pthread_create(&t, NULL, overflows, NULL);
	pthread_join(t, NULL);
	return 0;
}
