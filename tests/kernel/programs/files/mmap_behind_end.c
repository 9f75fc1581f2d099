/* mmap(2): access behind the end of the file is SIGBUS; the rest of the last page reads as zeros and is not written. */
#include "../observe.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static sigjmp_buf back;
static char *memory;
static long page;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d, code %d, page %ld\n", number, info->si_code, ((char *)info->si_addr - memory) / page);
	siglongjmp(back, 1);
}

static void touch(long at, int write)
{
	if (sigsetjmp(back, 1))
		return;
	if (write)
		*(volatile char *)(memory + at) = 'w';
	printf("%ld: %d\n", at / page, *(volatile char *)(memory + at));
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	char byte;
	int fd;

	page = sysconf(_SC_PAGESIZE);
	MUST(!sigaction(SIGBUS, &action, NULL) && !sigaction(SIGSEGV, &action, NULL));
	MUST((fd = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !ftruncate(fd, page + 10));
	memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	touch(page + 100, 0);
	touch(page + 100, 1);
	touch(2 * page, 0);
	touch(3 * page + 5, 1);
	SAY(lseek(fd, 0, SEEK_END));
	MUST(!ftruncate(fd, 3 * page));
	touch(2 * page, 0);
	touch(2 * page, 1);
	MUST(!ftruncate(fd, page));
	touch(0, 1);
	touch(page + 100, 0);
	touch(2 * page, 1);
	MUST(!ftruncate(fd, 4 * page) && pread(fd, &byte, 1, 2 * page) == 1);
	SAY(byte);
	touch(2 * page, 0);
	MUST(!mprotect(memory, page, PROT_READ));
	touch(0, 1);
	SAY(write(fd, memory + 4 * page - 2, 2));
	MUST(!ftruncate(fd, page));
	SAY(pwrite(fd, memory + 2 * page, 1, 0));
	return 0;
}
