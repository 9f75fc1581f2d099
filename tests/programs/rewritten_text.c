/* Makes functions in memory that it may write to and run, each over the ones before, and is interrupted in them.
 * rewritten_text KIND TIMES: KIND says how the memory is mapped. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { PAGE = 4096, SIZE = 4 * PAGE, STRIDE = 48, TURNS = 3000, RWX = PROT_READ | PROT_WRITE | PROT_EXEC };

static unsigned char *to_write, *to_run;
static volatile uint64_t sum;
static volatile unsigned heard;

static void tick(__attribute__((unused)) int sig)
{
	dprintf(1, "%lx\n", sum); /* tells a replay that hears it elsewhere */
	heard++;
}

static bool make_memory(const char *kind)
{
	const int file = memfd_create("text", 0);
	if (file < 0 || ftruncate(file, SIZE))
		return false;
	if (!strcmp(kind, "private")) {
		to_write = to_run = mmap(NULL, SIZE, RWX, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else if (!strcmp(kind, "shared")) {
		to_write = to_run = mmap(NULL, SIZE, RWX, MAP_SHARED, file, 0);
	} else if (!strcmp(kind, "twice") || !strcmp(kind, "follows")) {
		const int how = *kind == 't' ? MAP_SHARED : MAP_PRIVATE;
		to_write = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		to_run = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, how, file, 0);
	} else if (!strcmp(kind, "remapped")) {
		to_write = mmap(NULL, SIZE, RWX, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		to_run = mremap(to_write, 0, SIZE, MREMAP_MAYMOVE);
	} else {
		return false;
	}
	return to_write != MAP_FAILED && to_run != MAP_FAILED;
}

/* A loop whose instructions begin elsewhere in each round. */
static unsigned make(unsigned round)
{
	static const unsigned char head[] = {0x89, 0xf8, 0xb9}; /* mov %edi,%eax; mov $TURNS,%ecx */
	static const unsigned char loop[] = {
		0x69, 0xc0, 0x0d, 0x66, 0x19, 0x00, /* imul $1664525,%eax,%eax */
		0x05, 0,    0,    0,    0,          /* add $ROUND,%eax */
		0xff, 0xc9,                         /* dec %ecx */
		0x75, 0xf1,                         /* jnz */
		0xc3,                               /* ret */
	};
	const unsigned begin = round % (SIZE / STRIDE) * STRIDE;
	unsigned char *p = to_write + begin;
	for (unsigned i = 0; i < round % 7; i++)
		*p++ = 0x90;
	memcpy(p, head, sizeof(head));
	p += sizeof(head);
	memcpy(p, &(uint32_t){TURNS}, 4);
	p += 4;
	memcpy(p, loop, sizeof(loop));
	memcpy(p + 7, &round, 4);
	return begin;
}

int main(int argc, char **argv)
{
	const struct itimerval often = {.it_interval.tv_usec = 15000, .it_value.tv_usec = 15000};
	if (argc != 3 || !make_memory(argv[1]))
		return 2;
	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned round = 0; heard < (unsigned)atoi(argv[2]); round++) {
		const unsigned begin = make(round);
		sum += ((uint32_t(*)(uint32_t))(uintptr_t)(to_run + begin))((uint32_t)sum);
	}
	return 0;
}
