/* A signal handler that changes a counter in a computation; a shared file mapping.  Arguments: the file. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile int alarms;
static volatile unsigned long turns;

static void on_alarm(int sig)
{
	alarms++; /* @handler */
}

int main(int argc, char **argv)
{
	struct itimerval every = {{0, 20000}, {0, 20000}}, never = {0};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	while (alarms < 3)
		turns++;
	setitimer(ITIMER_REAL, &never, NULL); /* @counted */

	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, 8192))
		return 1;
	char *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	strcpy(shared, "first");
	if (pwrite(fd, "by the kernel", 14, 4096) != 14)
		return 1;
	strcpy(shared, "second"); /* @second */
	msync(shared, 8192, MS_SYNC);
	strcpy(shared + 4096, "third"); /* @third */
	munmap(shared, 8192);           /* @unmap */
	printf("%d %lu\n", alarms, turns);
	fflush(stdout);
	return 0; /* @done */
}
