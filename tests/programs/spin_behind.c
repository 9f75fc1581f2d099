/* A loop of four bytes, stopped by a signal, or with -DTHREAD by another thread: whatever is put over an instruction of it
 * covers what is behind it. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

enum { TURNS = 1000000 };

volatile uint32_t counter;
volatile uint64_t rounds;
static volatile int alarms;

void spin(volatile uint32_t *at);
__asm__(".text\n.globl spin, behind\n.type spin, @function\n"
	"spin: .cfi_startproc\n"
	"incl (%rdi)\n"
	"jne spin\n"
	"behind: fld1\n" /* only the processor itself carries these out */
	"fstp %st(0)\n"
	"ret\n"
	".cfi_endproc\n.size spin, . - spin\n");

#ifdef THREAD
static void *sleeper(void *arg)
{
	usleep(20000);
	alarms++;
	return arg;
}
#else
static void on_alarm(int sig)
{
	alarms++;
}
#endif

int main(void)
{
#ifdef THREAD
	pthread_t thread;
	pthread_create(&thread, NULL, sleeper, NULL);
#else
	const struct itimerval once = {.it_value.tv_usec = 20000};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &once, NULL);
#endif
	while (!alarms || rounds < 3) {
		volatile uint64_t round = ++rounds; /* what tells one round's stack from another's */
		counter = -(uint32_t)TURNS;
		spin(&counter);
		(void)round;
	}
	return 0;
}
