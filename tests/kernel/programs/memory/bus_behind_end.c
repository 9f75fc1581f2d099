/* mmap(2): pages wholly behind the end of a file raise SIGBUS (BUS_ADRERR); it goes when the file grows. */
#include "../observe.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static siginfo_t seen;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	seen = *info;
	siglongjmp(back, 1);
}

static void try(char *p)
{
	if (!sigsetjmp(back, 1))
		printf("%d\n", *(volatile char *)p);
	else
		printf("%s %d %d\n", sigabbrev_np(seen.si_signo), seen.si_code == BUS_ADRERR, seen.si_addr == p);
}

int main(void)
{
	struct sigaction how = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int fd = open("file", O_CREAT | O_RDWR, 0600);
	char *p;

	MUST(fd >= 0 && !ftruncate(fd, 100));
	p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	sigaction(SIGBUS, &how, NULL);
	p[200] = 5; /* in the last page, behind the end: no part of the file */
	try(p + 200);
	try(p + 4096 + 9);
	MUST(!ftruncate(fd, 2 * 4096));
	try(p + 4096 + 9);
	try(p + 2 * 4096);
	MUST(!ftruncate(fd, 0));
	try(p);
	return 0;
}
