/* A process maps a file so that it only sees what another writes there.  Arguments in any order:
 * how it is mapped:   shared, private, or writable (through a descriptor that can write)
 * who maps first:     early (before the other opens the file), late, or inherited (the other has the descriptor of the parent)
 * what is written by: store (a mapping), pwrite, writev, copy (copy_file_range), truncate (to nothing, and written anew)
 * how it is awaited:  pipe, spin (by looking), or signal
 * and: many (three readers), thread (the reader has another thread, which computes), exec (the writer is another program),
 * large (4 MiB). */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 12, PAGE = 4096, READERS = 3 };
static const char name[] = "shown.bin";
static char **words;
static int go[READERS][2], done[READERS][2], readers, writes_to = -1;
static size_t size;

static int is(const char *word)
{
	for (char **w = words; *w; w++)
		if (!strcmp(*w, word))
			return 1;
	return 0;
}

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static int open_file(int flags)
{
	const int fd = open(name, flags, 0600);
	need(fd >= 0, name);
	return fd;
}

static void put(int fd, char *map, off_t at, char value)
{
	if (is("store")) {
		((volatile char *)map)[at] = value;
	} else if (is("pwrite")) {
		need(pwrite(fd, &value, 1, at) == 1, "pwrite");
	} else if (is("writev")) {
		struct iovec one = {&value, 1};
		need(lseek(fd, at, SEEK_SET) == at && writev(fd, &one, 1) == 1, "writev");
	} else if (is("copy")) {
		loff_t from = 0, to = at;
		const int other = open("other.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
		need(other >= 0 && write(other, &value, 1) == 1, "write");
		need(copy_file_range(other, &from, fd, &to, 1, 0) == 1, "copy_file_range");
		close(other);
	} else if (is("truncate")) {
		need(!truncate(name, 0) && !truncate(name, (off_t)size), "truncate");
		need(pwrite(fd, &value, 1, at) == 1, "pwrite");
	}
}

static void writer(void)
{
	const int fd = writes_to >= 0 ? writes_to : open_file(O_RDWR);
	char *map = is("store") ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;
	need(map != MAP_FAILED, "mmap");
	for (int turn = 1; turn <= TURNS; turn++) {
		char byte;
		for (int i = 0; i < readers; i++)
			need(read(go[i][0], &byte, 1) == 1, "read");
		if (!is("truncate"))
			put(fd, map, (off_t)size - PAGE, (char)(turn * 3));
		put(fd, map, 0, (char)turn);
		for (int i = 0; i < readers; i++)
			need(is("spin") || write(done[i][1], &byte, 1) == 1, "write");
		if (is("signal"))
			kill(getppid(), SIGUSR1);
	}
}

static volatile sig_atomic_t signals;
static volatile unsigned long counted;
static volatile int ends;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void *count(void *arg)
{
	while (!ends)
		counted++;
	return arg;
}

static unsigned reader(int number, char *map, int fd)
{
	unsigned sum = 0;
	pthread_t other;
	if (!map)
		map = mmap(NULL, size, PROT_READ, is("private") ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	need(map != MAP_FAILED, "mmap");
	if (is("thread"))
		need(!pthread_create(&other, NULL, count, NULL), "pthread_create");
	for (int turn = 1; turn <= TURNS; turn++) {
		char byte = 0;
		need(write(go[number][1], &byte, 1) == 1, "write");
		if (is("spin"))
			while (((volatile char *)map)[0] != turn)
				;
		else if (is("signal"))
			while (signals < turn)
				;
		else
			need(read(done[number][0], &byte, 1) == 1, "read");
		sum = sum * 31 + (unsigned char)map[0] * 5 + (unsigned char)map[size - PAGE];
	}
	ends = 1;
	need(!is("thread") || !pthread_join(other, NULL), "pthread_join");
	return sum;
}

int main(int argc, char **argv)
{
	words = argv + 1;
	size = is("large") ? 4 << 20 : 2 * PAGE;
	readers = is("many") ? READERS : 1;
	if (is("again")) { /* the writer, as another program */
		for (int i = 0; i < readers; i++) {
			go[i][0] = 100 + i;
			done[i][1] = 200 + i;
		}
		writer();
		return 0;
	}
	signal(SIGUSR1, on_signal);
	int fd = open_file(O_RDWR | O_CREAT | O_TRUNC);
	need(!ftruncate(fd, (off_t)size), "ftruncate");
	if (is("inherited"))
		writes_to = fd;
	else
		close(fd);
	for (int i = 0; i < readers; i++)
		need(!pipe(go[i]) && !pipe(done[i]), "pipe");
	fd = open_file(is("writable") ? O_RDWR : O_RDONLY);
	char *map = is("early") ? mmap(NULL, size, PROT_READ, is("private") ? MAP_PRIVATE : MAP_SHARED, fd, 0) : NULL;
	need(!map || map != MAP_FAILED, "mmap");
	const volatile char first = map ? map[0] : 0;
	(void)first;
	const pid_t child = fork();
	if (!child && is("exec")) {
		for (int i = 0; i < readers; i++)
			need(dup2(go[i][0], 100 + i) >= 0 && dup2(done[i][1], 200 + i) >= 0, "dup2");
		char **again = calloc((size_t)argc + 2, sizeof(*again));
		memcpy(again, argv, (size_t)argc * sizeof(*again));
		again[argc] = "again";
		execv("/proc/self/exe", again);
		_exit(126);
	}
	if (!child) {
		writer();
		_exit(0);
	}
	if (writes_to >= 0)
		close(writes_to);
	int ways[READERS][2];
	for (int i = 1; i < readers; i++) {
		need(!pipe(ways[i]), "pipe");
		if (!fork()) {
			const unsigned sum = reader(i, map, fd);
			need(write(ways[i][1], &sum, sizeof(sum)) == sizeof(sum), "write");
			_exit(0);
		}
	}
	unsigned sum = reader(0, map, fd);
	for (int i = 1; i < readers; i++) {
		unsigned other;
		need(read(ways[i][0], &other, sizeof(other)) == sizeof(other), "read");
		sum = sum * 7 + other;
	}
	int status;
	while (wait(&status) > 0)
		need(!status, "a child");
	printf("%u\n", sum);
	return 0;
}
