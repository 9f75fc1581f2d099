/* Makes text that asks the machine something, in each way in which text is made, and runs it.  argv: way, instruction.
 * Ends with 0 if the answers are as the processor's: a clock that goes on, numbers that differ, a core that there is. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEN = 1 << 16, AT = 4096 + 256, TIMES = 32, RW = PROT_READ | PROT_WRITE, RX = PROT_READ | PROT_EXEC };

static const struct text {
	const char *name;
	unsigned len;
	unsigned char bytes[16];
} texts[] = {
	/* push %rbx; mov $1,%eax; xor %ecx,%ecx; cpuid; mov %ebx,%eax; pop %rbx; ret */
	{"cpuid", 14, {0x53, 0xb8, 1, 0, 0, 0, 0x31, 0xc9, 0x0f, 0xa2, 0x89, 0xd8, 0x5b, 0xc3}},
	/* rdtsc; shl $32,%rdx; or %rdx,%rax; ret */
	{"rdtsc", 10, {0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3}},
	{"rdtscp", 11, {0x0f, 0x01, 0xf9, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3}},
	/* rdrand %rax; jae back to it; ret */
	{"rdrand", 7, {0x48, 0x0f, 0xc7, 0xf0, 0x73, 0xfa, 0xc3}},
	{"rdseed", 7, {0x48, 0x0f, 0xc7, 0xf8, 0x73, 0xfa, 0xc3}},
};
static uint64_t answers[TIMES];

static void *map(int prot, int flags, int fd)
{
	void *p = mmap(NULL, LEN, prot, flags, fd, 0);
	if (p == MAP_FAILED)
		_exit(3);
	return p;
}

static void protect(void *p, int prot)
{
	if (mprotect(p, LEN, prot))
		_exit(4);
}

static void put(char *p, const struct text *t)
{
	memset(p, 0xcc, LEN);
	memcpy(p + AT, t->bytes, t->len);
	poll(NULL, 0, 0); /* there may be a checkpoint between making it and running it */
}

static char *make(const char *way, const struct text *t)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	const struct text nothing = {.len = 1, .bytes = {0xc3}};
	char *p, *q;
	if (!strcmp(way, "rwx")) {
		put(p = map(RW | PROT_EXEC, anonymous, -1), t);
	} else if (!strcmp(way, "none")) {
		protect(p = map(PROT_NONE, anonymous, -1), RW);
		put(p, t);
		protect(p, RX);
	} else if (!strcmp(way, "writable")) {
		put(p = map(RW, anonymous, -1), t);
		protect(p, RW | PROT_EXEC);
	} else if (!strcmp(way, "exec")) {
		put(p = map(RW, anonymous, -1), t);
		protect(p, PROT_EXEC);
	} else if (!strcmp(way, "again")) {
		put(p = map(RW, anonymous, -1), &nothing);
		protect(p, RX);
		((void (*)(void))(uintptr_t)(p + AT))();
		protect(p, RW);
		put(p, t);
		protect(p, RX);
	} else if (!strcmp(way, "moved")) {
		put(p = map(RW, anonymous, -1), t);
		q = map(PROT_NONE, anonymous, -1);
		protect(p, RX);
		p = mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	} else if (!strcmp(way, "moved-rwx")) {
		put(p = map(RW | PROT_EXEC, anonymous, -1), t);
		q = map(PROT_NONE, anonymous, -1);
		p = mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	} else if (!strcmp(way, "later")) {
		put(p = map(RW | PROT_EXEC, anonymous, -1), &nothing);
		((void (*)(void))(uintptr_t)(p + AT))();
		put(p, t);
	} else if (!strcmp(way, "file")) {
		const int fd = memfd_create("text", 0);
		if (ftruncate(fd, LEN))
			_exit(5);
		put(p = map(RW | PROT_EXEC, MAP_PRIVATE, fd), t);
	} else {
		const int fd = memfd_create("text", 0);
		if (ftruncate(fd, LEN))
			_exit(5);
		p = map(RX, MAP_SHARED, fd);
		put(map(RW, MAP_SHARED, fd), t);
	}
	return p;
}

int main(int argc, char **argv)
{
	const struct text *t = texts;
	int good = 0;
	while (argc > 2 && strcmp(t->name, argv[2]))
		t++;
	char *p = make(argv[1], t);
	for (int i = 0; i < TIMES; i++) {
		answers[i] = ((uint64_t(*)(void))(uintptr_t)(p + AT))();
		poll(NULL, 0, 0);
		if (!strncmp(t->name, "rdts", 4))
			good += !i || answers[i] > answers[i - 1];
		else if (!strcmp(t->name, "cpuid"))
			good += (answers[i] >> 8 & 0xff) == (answers[0] >> 8 & 0xff);
		else
			good += !i || answers[i] != answers[i - 1];
	}
	return good != TIMES;
}
