/* Callbacks around checkpoints.  argv: what the one before a checkpoint does (goes on, fails, hangs; late: those
 * afterwards fail), a file.  It makes safe points until the file is there, and says what was called. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "rdb.h"

static const char *how;
static int before, after, restarted;

static int on_before(void *data)
{
	if (!strcmp(how, "hangs") && !before++)
		while (access((const char *)data, F_OK))
			usleep(1000);
	before += strcmp(how, "hangs") != 0;
	return !strcmp(how, "fails");
}

static int on_after(void *data __attribute__((unused)))
{
	after++;
	printf("after %d\n", after);
	fflush(stdout);
	return !strcmp(how, "late");
}

static int on_restart(void *data __attribute__((unused)))
{
	char text[32] = "nothing";
	rdb_data("answer", text, sizeof(text));
	restarted++;
	printf("restarted: generation %d, before %d, given %s\n", rdb_generation(), before, text);
	fflush(stdout);
	return !strcmp(how, "late");
}

static void *computes(void *arg)
{
	volatile const int *over = arg;
	while (!*over)
		usleep(1000);
	return NULL;
}

int main(int argc, char **argv)
{
	enum { MANY = 64 << 20 };
	volatile int over = 0;
	pthread_t other;
	how = argv[1];
	unsigned char *memory = mmap(NULL, MANY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < MANY; i += 64)
		memory[i] = (unsigned char)(rand() | 1);
	printf("%d %d %d %d\n", rdb_exclude(memory, MANY), rdb_on(RDB_BEFORE_CHECKPOINT, on_before, argv[2]),
	       rdb_on(RDB_AFTER_CHECKPOINT, on_after, NULL), rdb_on(RDB_AFTER_RESTART, on_restart, NULL));
	if (argc > 3)
		pthread_create(&other, NULL, computes, (void *)&over);
	puts("there");
	fflush(stdout);
	while (access(argv[2], F_OK)) {
		rdb_safe_point();
		usleep(1000);
	}
	rdb_safe_point();
	over = 1;
	if (argc > 3)
		pthread_join(other, NULL);
	unsigned zeros = 0;
	for (unsigned i = 0; i < MANY; i += 64)
		zeros += !memory[i];
	printf("over: before %s, after %s, restarted %d, generation %d, %s\n", before ? "some" : "none",
	       after ? "some" : "none", restarted, rdb_generation(),
	       zeros == MANY / 64 ? "zeros"
	       : zeros            ? "mixed"
				  : "kept");
	return 0;
}
