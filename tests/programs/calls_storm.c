/* A storm of memory calls, the same for the same seed: mmap, munmap, mremap, mprotect, madvise, brk in every
 * form, on anonymous memory and on a file.  What memory holds is printed: it must not depend on rdb. */
#include "calls.h"
#include <sys/mman.h>

enum { AREAS = 24, PAGE = 4096 };

static struct area {
	unsigned char *at;
	size_t pages;
	int writable, of_file;
} areas[AREAS];

static unsigned long state;

static unsigned pick(unsigned n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(state >> 33) % n;
}

static unsigned checksum;

static void look(const struct area *a)
{
	for (size_t i = 0; i < a->pages * PAGE; i += 61)
		checksum = checksum * 31 + a->at[i];
}

static void fill(struct area *a)
{
	if (!a->writable)
		return;
	size_t from = pick((unsigned)a->pages) * PAGE;
	memset(a->at + from + pick(PAGE - 64), (int)pick(256), 64);
}

static void map(struct area *a, int fd)
{
	int flags = MAP_PRIVATE;
	a->pages = 1 + pick(40);
	a->of_file = pick(3) == 0;
	a->writable = 1;
	if (!a->of_file)
		flags |= MAP_ANONYMOUS | (pick(4) ? 0 : MAP_POPULATE) | (pick(4) ? 0 : MAP_NORESERVE);
	if (pick(8) == 0)
		flags |= MAP_32BIT;
	a->at = mmap(NULL, a->pages * PAGE, PROT_READ | PROT_WRITE, flags, a->of_file ? fd : -1,
		     a->of_file ? pick(4) * PAGE : 0);
	NEED(a->at != MAP_FAILED);
}

static void unmap(struct area *a)
{
	NEED(munmap(a->at, a->pages * PAGE) == 0);
	a->at = NULL;
}

static void protect(struct area *a)
{
	a->writable = !a->writable;
	NEED(mprotect(a->at, a->pages * PAGE, PROT_READ | (a->writable ? PROT_WRITE : 0)) == 0);
}

static void remap(struct area *a)
{
	size_t pages = 1 + pick(60);
	unsigned how = pick(4);
	void *to;
	if (how == 0) { /* to a place of its own choice */
		to = mmap(NULL, pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		to = mremap(a->at, a->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	} else if (how == 1 && !a->of_file) { /* and what was there stays, empty */
		to = mremap(a->at, a->pages * PAGE, a->pages * PAGE, MREMAP_MAYMOVE | 4 /* MREMAP_DONTUNMAP */, NULL);
		NEED(to != MAP_FAILED && a->at[0] == 0 && munmap(a->at, a->pages * PAGE) == 0);
		pages = a->pages;
	} else if (how == 2) { /* in place, or not at all */
		pages = 1 + pick((unsigned)a->pages);
		to = mremap(a->at, a->pages * PAGE, pages * PAGE, 0);
	} else {
		to = mremap(a->at, a->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
	}
	NEED(to != MAP_FAILED);
	a->at = to;
	if (a->of_file && pages > a->pages) /* beyond the end of the file: not to be touched */
		NEED(mprotect(a->at, pages * PAGE, PROT_READ | PROT_WRITE) == 0 && (a->writable = 1));
	a->pages = pages;
}

static void advise(struct area *a)
{
	static const int of_all[] = {MADV_NORMAL,      MADV_RANDOM,   MADV_SEQUENTIAL, MADV_HUGEPAGE,
				     MADV_NOHUGEPAGE, MADV_DONTFORK, MADV_DOFORK,     MADV_DONTDUMP};
	static const int of_part[] = {MADV_WILLNEED, MADV_DONTNEED, MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT,
				      23 /* MADV_POPULATE_WRITE */};
	size_t from = pick((unsigned)a->pages);
	if (pick(3)) /* these would make several mappings of it, which mremap does not move */
		madvise(a->at, a->pages * PAGE, of_all[pick(8)]);
	else
		madvise(a->at + from * PAGE, (1 + pick((unsigned)(a->pages - from))) * PAGE, of_part[pick(6)]);
}

static void wrong(struct area *a)
{
	NEED(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	NEED(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED && errno == EBADF);
	NEED(mmap(a->at, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
	NEED(errno == EEXIST && mremap(a->at, PAGE, 0, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
	NEED(mremap(a->at + 1, PAGE, PAGE, 0) == MAP_FAILED && errno == EINVAL && madvise(a->at + 1, PAGE, 0) == -1);
	NEED(mprotect(a->at + 1, PAGE, PROT_READ) == -1 && errno == EINVAL && munmap(a->at, 0) == -1);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/rdb-storm-XXXXXX", buf[256];
	int fd = mkstemp(name);
	state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	NEED(fd >= 0);
	for (int i = 0; i < 1200; i++) { /* 75 pages: more than any mapping of it reaches */
		memset(buf, i, sizeof(buf));
		NEED(write(fd, buf, sizeof(buf)) == sizeof(buf));
	}
	NEED(ftruncate(fd, 400 * PAGE) == 0);
	close(fd);
	fd = open(name, O_RDONLY);
	NEED(fd >= 0 && unlink(name) == 0);
	for (int step = 0; step < (argc > 2 ? atoi(argv[2]) : 400); step++) {
		struct area *a = areas + pick(AREAS);
		if (!a->at) {
			map(a, fd);
			continue;
		}
		switch (pick(8)) {
		case 0: unmap(a); continue;
		case 1: protect(a); break;
		case 2:
		case 3: remap(a); break;
		case 4: advise(a); break;
		case 5: wrong(a); break;
		case 6: {
			char *old = sbrk((long)(pick(20) * PAGE));
			char *end = sbrk(0);
			if (end > old)
				end[-1] = 7;
			NEED(sbrk(-(end - old) / 2) != (void *)-1);
			break;
		}
		default: fill(a);
		}
		look(a);
	}
	printf("%x\n", checksum);
}
