/* signal(7): a handler begins with the floating-point state of a new program; after it the program has its own again. */
#include "../observe.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t came;

struct state {
	unsigned mxcsr;
	unsigned short control, status;
	int xmm[4];
};

static inline struct state look(void)
{
	struct state s;
	__asm__ volatile("movdqu %%xmm7, %0; fnstcw %1; fnstsw %2; stmxcsr %3"
			 : "=m"(s.xmm), "=m"(s.control), "=m"(s.status), "=m"(s.mxcsr));
	return s;
}

enum { UP = 0x4000, ZERO = 0x6000, DEFAULT = 0x1f80 }; /* MXCSR: how to round */

static void round_to(unsigned how)
{
	const unsigned mxcsr = DEFAULT | how;
	const unsigned short control = (unsigned short)(0x37f | how >> 3);

	__asm__ volatile("ldmxcsr %0; fldcw %1" : : "m"(mxcsr), "m"(control));
}

static struct state seen;

static void show(const char *where, struct state s)
{
	printf("%s: mxcsr %x, control %x, status %x, xmm7 %x %x\n", where, s.mxcsr, s.control, s.status, s.xmm[0],
	       s.xmm[3]);
}

static void handler(int sig)
{
	(void)sig;
	seen = look();
	round_to(ZERO);
	came++;
}

static void nested(int sig)
{
	handler(sig);
	raise(SIGUSR1);
	show("nested", seen);
}

int main(void)
{
	static const int ones[4] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};
	const struct itimerval soon = {.it_value.tv_usec = 1000};

	signal(SIGUSR1, handler);
	signal(SIGUSR2, nested);
	signal(SIGALRM, handler);
	signal(SIGSEGV, handler);
	round_to(UP);
	for (int sent = 0; sent < 2; sent++) {
		__asm__ volatile("movdqu %0, %%xmm7; fld1; fldpi" : : "m"(ones) : "xmm7");
		kill(getpid(), sent ? SIGUSR2 : SIGUSR1);
		const struct state after = look();
		__asm__ volatile("fstp %%st; fstp %%st" : : :);
		show("handler", seen);
		show("after", after);
	}
	came = 0;
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!came)
		__asm__ volatile("movdqu %0, %%xmm7" : : "m"(ones) : "xmm7");
	show("in a computation", seen);
	show("after", look());
	return 0;
}
