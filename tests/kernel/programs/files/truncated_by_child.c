/* mmap(2): a child truncates the file that the parent has mapped: SIGBUS in the parent; grown again it reads zeros. */
#include "../observe.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static sigjmp_buf back;

static void handler(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void child(off_t size)
{
	int status;

	if (!fork())
		_exit(truncate("file", size) ? 1 : 0);
	MUST(wait(&status) > 0 && !status);
}

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600), status;

	MUST(fd >= 0 && !ftruncate(fd, 8192));
	volatile char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(memory != MAP_FAILED);
	memory[0] = 'a';
	memory[4096] = 'b';
	signal(SIGBUS, handler);
	child(100);
	if (!sigsetjmp(back, 1))
		printf("%c\n", memory[4096]);
	else
		puts("SIGBUS");
	printf("%c %d\n", memory[0], memory[200]);
	child(8192);
	if (!sigsetjmp(back, 1))
		printf("%d\n", memory[4096]);
	else
		puts("SIGBUS");
	child(0);
	fflush(stdout);
	if (!fork()) {
		signal(SIGBUS, SIG_DFL);
		_exit(memory[0]);
	}
	MUST(wait(&status) > 0);
	printf("%d\n", WTERMSIG(status));
	return 0;
}
