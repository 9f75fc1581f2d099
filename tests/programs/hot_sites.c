/* System calls of the C library that rdb redirects (interposer/crossing/hot_sites.h).
 *   hot_sites kept           what a system call keeps is kept; the bytes of the site are told on stderr
 *   hot_sites signals|threads|restarted|interrupted   calls in a storm */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { GPRS = 12, SIGNALS = 30, CALLS = 3000, THREADS = 3, LINES = 200 };

struct state {
	uint64_t gpr[GPRS]; /* rbx rdx rsi rdi rbp r8 r9 r10 r12 r13 r14 r15 */
	uint64_t xmm[32];
	uint64_t rcx, r11, flags, rax;
	uint64_t red_zone[15]; /* below the stack pointer of the caller, after the call's return address */
	uint32_t mxcsr;
};

/* In memory, since no register is left. */
struct state before, after;
uint64_t saved_sp;
pid_t (*call)(void) = getppid;

#define X(n) "movdqu before+96+16*" #n "(%rip), %xmm" #n "\n"
#define Y(n) "movdqu %xmm" #n ", after+96+16*" #n "(%rip)\n"
#define ALL(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define G(f) \
	f(0, rbx) f(1, rdx) f(2, rsi) f(3, rdi) f(4, rbp) f(5, r8) f(6, r9) f(7, r10) f(8, r12) f(9, r13) f(10, r14) \
		f(11, r15)
#define LOAD(n, r) "movq before+8*" #n "(%rip), %" #r "\n"
#define SAVE(n, r) "movq %" #r ", after+8*" #n "(%rip)\n"

__asm__(".text\n"
	"around: .cfi_startproc\n"
	"pushq %rbx; pushq %rbp; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
	"movq %rsp, saved_sp(%rip)\n"
	"subq $256, %rsp\n"
	/* the red zone of the callee: 128 bytes below its return address */
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14\n"
	"movq before+384+8*\\n(%rip), %rax\n"
	"movq %rax, -16-8*\\n(%rsp)\n"
	".endr\n" ALL(X) G(LOAD) "xorl %eax, %eax; stc\n"
				 "call *call(%rip)\n"
				 "pushfq; popq after+368(%rip)\n"
				 "movq %rax, after+376(%rip)\n"
				 "movq %rcx, after+352(%rip)\n"
				 "movq %r11, after+360(%rip)\n" G(SAVE) ALL(Y)
	/* the first slot went to our pushfq */
	".irp n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14\n"
	"movq -16-8*\\n(%rsp), %rax\n"
	"movq %rax, after+384+8*\\n(%rip)\n"
	".endr\n"
	"stmxcsr after+504(%rip)\n"
	"movq saved_sp(%rip), %rsp\n"
	"popq %r15; popq %r14; popq %r13; popq %r12; popq %rbp; popq %rbx\n"
	"ret\n"
	".cfi_endproc\n");
void around(void);

static int kept(void)
{
	uint32_t rounding = 0x1f80 | 0x6000, usual = 0x1f80; /* towards zero */
	uint64_t x = 88172645463325252ull;
	for (unsigned i = 0; i < sizeof(before) / 8; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		((uint64_t *)&before)[i] = x;
	}
	before.red_zone[0] = 0;
	pid_t parent = getppid();
	__asm__ volatile("ldmxcsr %0" : : "m"(rounding));
	around();
	__asm__ volatile("ldmxcsr %0" : : "m"(usual));
	printf("general registers %s\n", memcmp(before.gpr, after.gpr, sizeof(before.gpr)) ? "lost" : "kept");
	printf("vector registers %s\n", memcmp(before.xmm, after.xmm, sizeof(before.xmm)) ? "lost" : "kept");
	printf("red zone %s\n", memcmp(before.red_zone, after.red_zone, sizeof(before.red_zone)) ? "lost" : "kept");
	printf("mxcsr %#x\n", after.mxcsr);
	printf("answer %s\n", (pid_t)after.rax == parent ? "right" : "wrong");
	printf("flags %#lx r11 %#lx rcx %#lx\n", (unsigned long)after.flags, (unsigned long)after.r11,
	       (unsigned long)(after.rcx - (uintptr_t)getppid));
	fprintf(stderr, "%02x\n", *(const unsigned char *)(uintptr_t)getppid);
	return 0;
}

static volatile sig_atomic_t signals;
static double noise;

static void on_alarm(int sig)
{
	(void)sig;
	noise += 0.5;
	signals += getppid() != 0;
}

static const char *calls(int until_signals)
{
	char name[4096], again[4096];
	double sum = 0;
	pid_t parent = getppid();
	if (!getcwd(name, sizeof(name)))
		return "getcwd failed";
	for (int i = 0; until_signals ? signals < SIGNALS : i < CALLS; i++) {
		sum += 1;
		if (getppid() != parent)
			return "another parent";
		if (i % 8 == 0 && (!getcwd(again, sizeof(again)) || strcmp(name, again)))
			return "another directory";
		if (access("/does/not/exist", F_OK) != -1 || errno != ENOENT)
			return "a file that is not there";
	}
	return sum > 0 ? NULL : "no sum";
}

static void *thread(void *arg)
{
	(void)arg;
	return (void *)calls(0);
}

static const char *blocking(int restart)
{
	const struct itimerval every = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = restart ? SA_RESTART : 0};
	int ends[2], interrupted = 0;
	char c;
	if (pipe(ends))
		return "no pipe";
	sigaction(SIGALRM, &sa, NULL);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < LINES; i++) {
			usleep(1000);
			if (write(ends[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	setitimer(ITIMER_REAL, &every, NULL);
	int got = 0;
	for (;;) {
		ssize_t n = read(ends[0], &c, 1);
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return "read failed";
		interrupted += n < 0;
		got += n > 0;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	if (got != LINES)
		return "bytes lost";
	if (restart && interrupted)
		return "not restarted";
	return signals ? NULL : "no signal";
}

int main(int argc, char **argv)
{
	const struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const char *how = argc > 1 ? argv[1] : "", *wrong = "?";
	pthread_t threads[THREADS];
	if (!strcmp(how, "kept"))
		return kept();
	if (!strcmp(how, "signals")) {
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
		wrong = calls(1);
		setitimer(ITIMER_REAL, &never, NULL);
	} else if (!strcmp(how, "restarted") || !strcmp(how, "interrupted")) {
		wrong = blocking(*how == 'r');
	} else if (!strcmp(how, "threads")) {
		wrong = NULL;
		for (int i = 0; i < THREADS; i++)
			if (pthread_create(&threads[i], NULL, thread, NULL))
				return 2;
		for (int i = 0; i < THREADS; i++) {
			void *said;
			pthread_join(threads[i], &said);
			wrong = said ? said : wrong;
		}
	}
	puts(wrong ? wrong : "fine");
	return wrong != NULL;
}
