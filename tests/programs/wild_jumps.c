/* Calls, three times, what is no function: a null pointer, data, memory that is gone, the kernel's half, ...; "made" is
 * text that it has made and may run.  With a second argument it handles SIGSEGV and goes on. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char text[16] = {0x89, 0xf8, 0x83, 0xc0, 0x05, 0xc3}; /* mov %edi,%eax; add $5,%eax; ret */
static unsigned char data[4096] __attribute__((aligned(4096)));
static int (*hook)(int);
static int calls, total;
static sigjmp_buf out;

static void on_segv(int sig)
{
	siglongjmp(out, sig);
}

int main(int argc, char **argv)
{
	const int prot = strcmp(argv[1], "made") ? PROT_READ | PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC;
	unsigned char *page = mmap(NULL, 8192, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct {
		const char *name;
		const void *at;
	} ways[] = {
		{"null", NULL},
		{"member", (void *)0x18},
		{"data", data},
		{"constants", text},
		{"heap", page},
		{"made", page},
		{"none", page},
		{"gone", page},
		{"kernel", (void *)-1L},
		{"half", (void *)0xffff800000000000ul},
		{"letters", (void *)0x414141414141ul},
		{"end", (void *)0x7ffffffff000ul},
	};
	struct sigaction sa = {.sa_handler = on_segv};

	memcpy(data, text, sizeof(text));
	memcpy(page, text, sizeof(text));
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			memcpy(&hook, &ways[i].at, sizeof(hook));
	if (!strcmp(argv[1], "none") && mprotect(page, 4096, PROT_NONE))
		return 2;
	if (!strcmp(argv[1], "gone") && munmap(page, 4096))
		return 2;
	if (argc > 2 && sigaction(SIGSEGV, &sa, NULL))
		return 2;
	getppid();
	while (calls < 3) {
		if (sigsetjmp(out, 1)) {
			total += 100;
			continue;
		}
		calls++;
		total += hook(calls); /* @call */
	}
	printf("%d\n", total);
	return 0;
}
