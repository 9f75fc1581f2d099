/* Looks at, and stores into, pages at and behind the end of mapped files while that moves, and prints what came of each
 * access.  argv: a new file; with a second word it only dies behind the end of one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4 };
static sigjmp_buf back;
static volatile int caught, code;
static char *volatile fault;

static void handler(int sig, siginfo_t *info, void *context)
{
	caught = sig;
	code = info->si_code;
	fault = info->si_addr;
	(void)context;
	siglongjmp(back, 1);
}

static char *map;

static void look(int page, int store)
{
	volatile char *at = map + page * PAGE + 5;
	if (sigsetjmp(back, 1)) {
		printf(" %s %d code %d at +%ld", caught == SIGBUS ? "SIGBUS" : "signal", page, code, (long)(fault - map));
		return;
	}
	if (store)
		*at = (char)(100 + page + store);
	else
		printf(" %d", *at);
}

static void look_all(const char *when, int store)
{
	printf("%s:", when);
	for (int page = 0; page < PAGES; page++)
		look(page, 0);
	if (store)
		for (int page = 0; page < PAGES; page++)
			look(page, store);
	puts("");
	fflush(stdout);
}

static void round_of(const char *path, int memfd, int shared, int writable, int size)
{
	char text[PAGES * PAGE];
	int rw = memfd ? memfd_create("end", 0) : open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), fd = rw;
	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (char)(1 + i / PAGE);
	if (write(rw, text, (size_t)size) != size)
		exit(2);
	if (!writable) {
		char link[64];
		snprintf(link, sizeof(link), "/proc/self/fd/%d", rw);
		fd = open(memfd ? link : path, O_RDONLY);
	}
	const int store = writable || !shared;
	map = mmap(NULL, sizeof(text), PROT_READ | (store ? PROT_WRITE : 0), shared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		exit(3);
	printf("memfd %d shared %d writable %d size %d\n", memfd, shared, writable, size);
	look_all("at first", 0);
	look_all("stores", store ? 1 : 0);
	ftruncate(rw, PAGE + 7);
	look_all("cut", store ? 2 : 0);
	ftruncate(rw, 3 * PAGE);
	look_all("longer", store ? 3 : 0);
	ftruncate(rw, 0);
	look_all("empty", store ? 4 : 0);
	pwrite(rw, text, 2 * PAGE, PAGE);
	look_all("written", store ? 5 : 0);
	if (!memfd) {
		truncate(path, PAGE);
		look_all("by name", store ? 6 : 0);
	}
	munmap(map, sizeof(text));
	close(rw);
	if (fd != rw)
		close(fd);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	static const int sizes[] = {PAGES * PAGE, 2 * PAGE - 9, 10, 0};
	for (int memfd = 0; memfd < 2 && argc == 2; memfd++)
		for (int shared = 0; shared < 2; shared++)
			for (int writable = 0; writable < 2; writable++)
				for (int size = 0; size < 4; size++)
					round_of(argv[1], memfd, shared, writable, sizes[size]);
	if (argc > 2) { /* p r: private, read only */
		const int rw = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), fd = open(argv[1], O_RDONLY);
		ftruncate(rw, PAGE);
		map = mmap(NULL, 2 * PAGE, PROT_READ, strchr(argv[2], 's') ? MAP_SHARED : MAP_PRIVATE,
			   strchr(argv[2], 'r') ? fd : rw, 0);
		signal(SIGBUS, SIG_DFL);
		if (strchr(argv[2], 'c'))
			ftruncate(rw, 0);
		return *(volatile char *)(map + (strchr(argv[2], 'c') ? 0 : PAGE));
	}
	return 0;
}
