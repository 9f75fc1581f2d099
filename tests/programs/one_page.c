/* one_page KIND N FILE: one page, mapped N times.  Another process stores there; this one looks at it by another of the
 * mappings each time, while it makes them and while it takes them away.  Prints a sum of what it saw.
 *
 * KIND: memfd, file, sysv, anonymous. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };
static int ask[2], told[2];
static uint64_t sum;

static void *must(void *p)
{
	if (p == MAP_FAILED) {
		perror("mapping");
		exit(1);
	}
	return p;
}

static void other(unsigned char *page)
{
	unsigned where;
	close(ask[1]);
	while (read(ask[0], &where, sizeof(where)) == sizeof(where)) {
		page[where % PAGE]++;
		page[PAGE - 1] ^= 1;
		if (write(told[1], "", 1) != 1)
			break;
	}
	_exit(0);
}

static void look(const unsigned char *page, unsigned where)
{
	char c;
	if (write(ask[1], &where, sizeof(where)) != sizeof(where) || read(told[0], &c, 1) != 1)
		exit(1);
	sum = sum * 31 + page[where % PAGE] + page[PAGE - 1];
}

int main(int argc, char **argv)
{
	const char *kind = argv[1];
	const long n = atol(argv[2]), every = n / 50;
	const int sysv = !strcmp(kind, "sysv"), anonymous = !strcmp(kind, "anonymous");
	int fd = -1, id = sysv ? shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600) : 0;
	unsigned char **at = calloc((size_t)n, sizeof(*at));
	if (!sysv && !anonymous)
		fd = !strcmp(kind, "memfd") ? memfd_create("one", 0) : open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (pipe(ask) || pipe(told) || (fd >= 0 && ftruncate(fd, PAGE)))
		return 1;
	for (long i = 0; i < n; i++) {
		if (sysv)
			at[i] = must(shmat(id, NULL, 0));
		else if (anonymous && i)
			at[i] = must(mremap(at[0], 0, PAGE, MREMAP_MAYMOVE));
		else
			at[i] = must(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0),
					  fd, 0));
		at[i][i % 1000] ^= (unsigned char)i;
		if (!i && !fork())
			other(at[0]);
		if (i % every == 0)
			look(at[i / 2], (unsigned)i);
	}
	if (id)
		shmctl(id, IPC_RMID, NULL);
	for (long i = 0; i < n - 1; i++) { /* the first, the last, the second ... */
		const long gone = i % 2 ? n - 1 - i / 2 : i / 2, kept = (n - 1) / 2;
		if (gone == kept)
			continue;
		if (sysv ? shmdt(at[gone]) : munmap(at[gone], PAGE))
			return 1;
		if (i % every == 0)
			look(at[kept], (unsigned)i);
	}
	close(ask[1]);
	wait(NULL);
	printf("%016lx\n", sum);
	return 0;
}
