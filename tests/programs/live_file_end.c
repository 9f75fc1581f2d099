/* A shared mapping goes beyond the end of its file, which grows later. */
#include "calls.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static sigjmp_buf back;

static void fault(int sig)
{
	siglongjmp(back, sig);
}

static void look(const char *what, const volatile char *p)
{
	const int sig = sigsetjmp(back, 1);
	if (sig)
		printf("%s: signal %d\n", what, sig);
	else
		printf("%s: %d\n", what, *p);
	fflush(stdout);
}

int main(void)
{
	const int fd = open("grows", O_RDWR | O_CREAT | O_TRUNC, 0600);
	NEED(fd >= 0 && ftruncate(fd, PAGE) == 0);
	signal(SIGBUS, fault);
	signal(SIGSEGV, fault);
	const char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	look("before", p + PAGE);
	getppid();
	look("then", p + PAGE);
	NEED(ftruncate(fd, 2 * PAGE) == 0 && pwrite(fd, "x", 1, PAGE) == 1);
	look("grown", p + PAGE);
	look("behind", p + 2 * PAGE);
	return 0;
}
