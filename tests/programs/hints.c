/* Where memory comes that a program hints at (mmap(2)): yes, if it is there.  Then maps more, which must not fall on what
 * it chose itself. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { PAGE = 4096, MORE = 40, BIG = 3 << 20 };

static void hint(const char *what, uintptr_t at, size_t len, int flags)
{
	char *p = mmap((void *)at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	const uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
	printf("%s: %s\n", what, p == MAP_FAILED ? "failed" : (uintptr_t)p == page ? "yes" : "elsewhere");
	if (p != MAP_FAILED)
		memset(p, 7, PAGE);
}

/* Do any of them lie on it? */
static void goes_on(const char *what, char *chosen, size_t len, int flags)
{
	unsigned wrong = 0;
	memset(chosen, 9, len);
	for (int i = 0; i < MORE; i++) {
		char *p = mmap(NULL, i % 4 ? PAGE : BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			       -1, 0);
		wrong += p == MAP_FAILED || (p < chosen + len && p + PAGE > chosen);
		if (p != MAP_FAILED)
			memset(p, 1, PAGE);
	}
	for (size_t i = 0; i < len; i++)
		wrong += chosen[i] != 9;
	printf("%s: %s\n", what, wrong ? "overwritten" : "whole");
}

int main(void)
{
	hint("free", 0x300000000, PAGE, 0);
	hint("free, within a page", 0x310000123, PAGE, 0);
	hint("taken", 0x300000000, PAGE, 0);
	hint("overlaps from below", 0x2fffff000, 2 * PAGE, 0);
	hint("ends where another begins", 0x2fffff000, PAGE, 0);
	hint("first page", 5, PAGE, 0);
	hint("low", 0x50000000, PAGE, MAP_32BIT);
	hint("low, below where it looks", 0x30000000, PAGE, MAP_32BIT);
	hint("low, too far", 0x7ffff000, 2 * PAGE, MAP_32BIT);
	hint("low, beyond", 0x300100000, PAGE, MAP_32BIT);
	hint("fixed, free", 0x320000000, PAGE, MAP_FIXED_NOREPLACE);
	hint("fixed, taken", 0x320000000, PAGE, MAP_FIXED_NOREPLACE);

	char *low = mmap((void *)0x40010000, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
			 -1, 0);
	goes_on("after a low one", low, 16 * PAGE, MAP_32BIT);
	for (int how = 0; how < 3; how++) {
		static const char *const what[] = {"after a fixed one", "after a hint", "after an attached one"};
		char *at = (char *)mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (8 << 20), *p;
		if (how == 2) {
			const int id = shmget(IPC_PRIVATE, 4 * PAGE, IPC_CREAT | 0600);
			p = shmat(id, at, 0);
			shmctl(id, IPC_RMID, NULL);
		} else {
			p = mmap(at, 4 * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | (how ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
		}
		if (p == (char *)-1) /* natively something may be there */
			printf("%s: whole\n", what[how]);
		else
			goes_on(what[how], p, 4 * PAGE, 0);
	}
	return 0;
}
