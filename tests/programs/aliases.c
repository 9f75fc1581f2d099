/* Carries out a script of operations on mappings, and says after each what all of them show.
 *
 * aliases DIRECTORY 'OPERATION NUMBERS.../OPERATION NUMBERS.../...'; a file has PAGES pages at first. */
#include "calls.h"
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 4, SLOTS = 8, FILES = 4, SEGMENTS = 2 };

static struct slot {
	unsigned char *at;
	size_t pages;
	size_t offset; /* page of the file */
	int file;      /* -1: what cannot end */
	int prot;
} slots[SLOTS];

static struct file {
	int rw, ro, wo;
	size_t size; /* bytes */
} files[FILES];

static int segments[SEGMENTS];
static unsigned sum;

static size_t readable(const struct slot *s)
{
	const size_t end = s->file < 0 ? s->offset + s->pages : (files[s->file].size + PAGE - 1) / PAGE;
	const size_t n = end > s->offset ? end - s->offset : 0;
	return !s->at || !(s->prot & PROT_READ) ? 0 : n < s->pages ? n : s->pages;
}

/* Plain loads: no call in between. */
static void look(void)
{
	for (int i = 0; i < SLOTS; i++) {
		const volatile unsigned char *p = slots[i].at;
		const size_t n = readable(&slots[i]) * PAGE;
		sum = sum * 31 + (unsigned)i;
		for (size_t k = 0; k < n; k += 8)
			sum = sum * 31 + p[k] + 7u * p[k + 5];
	}
}

static void fill(int fd, size_t from, size_t pages)
{
	unsigned char page[PAGE];
	for (size_t i = from; i < from + pages; i++) {
		for (int k = 0; k < PAGE; k++)
			page[k] = (unsigned char)(i * 37 + (size_t)k * 11 + 1);
		NEED(pwrite(fd, page, PAGE, (off_t)(i * PAGE)) == PAGE);
	}
}

static void make(const char *dir, int i)
{
	char name[256];
	struct file *f = &files[i];
	snprintf(name, sizeof(name), "%s/aliases-%d-%d", i == 2 ? "/dev/shm" : dir, i, (int)getpid());
	f->rw = i == 0 ? memfd_create("aliases", 0) : open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(f->rw >= 0);
	if (i == 0)
		snprintf(name, sizeof(name), "/proc/self/fd/%d", f->rw);
	f->ro = open(name, O_RDONLY);
	f->wo = open(name, O_WRONLY);
	NEED(f->ro >= 0 && f->wo >= 0 && (i == 0 || i == 1 || unlink(name) == 0));
	fill(f->rw, 0, PAGES);
	f->size = PAGES * PAGE;
}

static void unmap(struct slot *s)
{
	if (s->at)
		NEED(munmap(s->at, s->pages * PAGE) == 0);
	s->at = NULL;
}

/* slot, file, shared, through which descriptor, protection, page, pages */
static void map(const int *a)
{
	struct slot *s = &slots[a[0]];
	const struct file *f = &files[a[1]];
	unmap(s);
	unsigned char *p = mmap(NULL, (size_t)a[6] * PAGE, a[4], a[2] ? MAP_SHARED : MAP_PRIVATE, a[3] ? f->rw : f->ro,
				a[5] * PAGE);
	sum = sum * 31 + (p == MAP_FAILED ? (unsigned)errno : 0);
	if (p != MAP_FAILED)
		*s = (struct slot){p, (size_t)a[6], (size_t)a[5], a[1], a[4]};
}

/* slot, file, shared: over its second page */
static void map_over(const int *a)
{
	struct slot *s = &slots[a[0]];
	const struct file *f = &files[a[1]];
	if (!s->at || s->file < 0 || s->pages < 2)
		return;
	unsigned char *p = mmap(s->at + PAGE, PAGE, s->prot, a[2] ? MAP_SHARED | MAP_FIXED : MAP_PRIVATE | MAP_FIXED,
				f->rw, (off_t)(s->offset + 1) * PAGE);
	NEED(p == s->at + PAGE);
	if (a[1] == s->file)
		return;
	NEED(munmap(s->at, PAGE) == 0 && (s->pages == 2 || munmap(p + PAGE, (s->pages - 2) * PAGE) == 0));
	*s = (struct slot){p, 1, s->offset + 1, a[1], s->prot};
}

static int inside(const int *a, size_t *at)
{
	const struct slot *s = &slots[a[0]];
	const size_t n = readable(s);
	*at = n ? (size_t)a[1] * 1000 % (n * PAGE - 16) : 0;
	return n > 0;
}

static void store(const int *a)
{
	size_t at;
	if (inside(a, &at) && slots[a[0]].prot & PROT_WRITE)
		for (int i = 0; i < 9; i++)
			slots[a[0]].at[at + (size_t)i] += (unsigned char)(a[2] + i);
}

/* file, way, where, what */
static void put(const int *a)
{
	struct file *f = &files[a[0]];
	const struct file *g = &files[(a[0] + 1) % FILES];
	unsigned char b[64];
	off_t at = (off_t)a[2] * 1000 % (off_t)f->size, from = 0;
	struct iovec v[2] = {{b, 20}, {b + 20, 44}};
	int pipes[2];
	memset(b, a[3] + 1, sizeof(b));
	if (at + 64 > (off_t)f->size)
		at = 0;
	switch (a[1]) {
	case 0: NEED(pwrite(f->wo, b, 64, at) == 64); break;
	case 1: NEED(lseek(f->rw, at, SEEK_SET) == at && write(f->rw, b, 64) == 64); break;
	case 2: NEED(pwritev(f->wo, v, 2, at) == 64); break;
	case 3: NEED(lseek(f->wo, at, SEEK_SET) == at && writev(f->wo, v, 2) == 64); break;
	case 4: NEED(lseek(f->wo, at, SEEK_SET) == at && sendfile(f->wo, g->ro, &from, 64) == 64); break;
	case 5:
		if (copy_file_range(g->ro, &from, f->wo, &at, 64, 0) < 0)
			NEED(errno == EXDEV || errno == EINVAL);
		break;
	case 6:
		NEED(pipe(pipes) == 0 && write(pipes[1], b, 64) == 64);
		NEED(splice(pipes[0], NULL, f->wo, &at, 64, 0) == 64);
		close(pipes[0]);
		close(pipes[1]);
		break;
	case 7: NEED(fallocate(f->rw, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 3000) == 0); break;
	case 8:
		if (fallocate(f->rw, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, at, 3000))
			NEED(errno == EOPNOTSUPP);
		break;
	}
}

/* slot, way, where, what: a store, and a call that takes it back, with nothing in between */
static void take_back(const int *a)
{
	struct slot *s = &slots[a[0]];
	unsigned char before[64];
	size_t at;
	const int where[2] = {a[0], a[2]};
	if (!inside(where, &at) || !(s->prot & PROT_WRITE))
		return;
	at &= ~63ul;
	memcpy(before, s->at + at, 64);
	for (int i = 0; i < 64; i++)
		s->at[at + (size_t)i] ^= (unsigned char)(a[3] + 1);
	const off_t in_file = (off_t)(s->offset * PAGE + at);
	const struct iovec v = {before, 64};
	if (a[1] == 0 && s->file >= 0 && (size_t)in_file + 64 <= files[s->file].size)
		NEED(pwrite(files[s->file].wo, before, 64, in_file) == 64);
	if (a[1] == 1 && s->file >= 0)
		NEED(fallocate(files[s->file].rw, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, in_file, 64) == 0);
	if (a[1] == 2)
		sum = sum * 31 + (unsigned)madvise(s->at + at / PAGE * PAGE, PAGE, MADV_REMOVE);
	if (a[1] == 3 && s->file >= 0 && (size_t)in_file + 64 <= files[s->file].size)
		NEED(pwritev(files[s->file].rw, &v, 1, in_file) == 64);
}

/* slot, way, where, what: not by a store */
static void poke(const int *a)
{
	size_t at;
	unsigned char b[16];
	const int where[2] = {a[0], a[2]};
	memset(b, a[3] + 3, sizeof(b));
	if (!inside(where, &at))
		return;
	unsigned char *p = slots[a[0]].at + at;
	struct iovec from = {b, sizeof(b)}, to = {p, sizeof(b)};
	long n = -1;
	if (a[1] == 0)
		n = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
	if (a[1] == 1)
		n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	if (a[1] > 1) {
		int fd = open("/proc/self/mem", O_RDWR);
		NEED(fd >= 0);
		if (a[1] == 2)
			n = pwrite(fd, b, sizeof(b), (off_t)(uintptr_t)p);
		else
			n = lseek(fd, (off_t)(uintptr_t)p, SEEK_SET) >= 0 ? write(fd, b, sizeof(b)) : -1;
		close(fd);
	}
	sum = sum * 31 + (unsigned)n;
}

static void advise(const int *a)
{
	static const int advice[] = {MADV_DONTNEED, MADV_REMOVE, MADV_WILLNEED, MADV_DONTNEED};
	const struct slot *s = &slots[a[0]];
	if (readable(s) > (size_t)a[2])
		sum = sum * 31 + (unsigned)madvise(s->at + a[2] * PAGE, PAGE, advice[a[1]]);
}

static void protect(const int *a)
{
	struct slot *s = &slots[a[0]];
	if (s->at && mprotect(s->at, s->pages * PAGE, a[1]) == 0)
		s->prot = a[1];
	else
		sum = sum * 31 + (unsigned)errno;
}

/* slot, to which slot (another one: the same pages once more), pages */
static void remap(const int *a)
{
	struct slot *s = &slots[a[0]], *to = &slots[a[1]];
	if (!s->at)
		return;
	if (s != to)
		unmap(to);
	unsigned char *p = mremap(s->at, s == to ? s->pages * PAGE : 0, (size_t)a[2] * PAGE, MREMAP_MAYMOVE);
	sum = sum * 31 + (p == MAP_FAILED ? (unsigned)errno : 0);
	if (p == MAP_FAILED)
		return;
	const int file = s->file;
	const size_t offset = s->offset, pages = s->pages;
	*to = (struct slot){p, (size_t)a[2], offset, file, s->prot};
	if (file < 0 && to->pages > pages) /* memory without a file ends */
		NEED(munmap(p + pages * PAGE, (to->pages - pages) * PAGE) == 0 && (to->pages = pages));
}

/* slot, to which slot: its own pages go, and where they were the mapping shows what it does without them */
static void keep(const int *a)
{
	const struct slot s = slots[a[0]];
	struct slot *to = &slots[a[1]];
	if (!s.at || a[0] == a[1])
		return;
	unmap(to);
	unsigned char *p = mremap(s.at, s.pages * PAGE, s.pages * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	sum = sum * 31 + (p == MAP_FAILED ? (unsigned)errno : 0);
	*to = (struct slot){p == MAP_FAILED ? NULL : p, s.pages, s.offset, s.file, s.prot};
}

static void cut(const int *a)
{
	struct file *f = &files[a[0]];
	const size_t before = f->size, after = (size_t)a[1] * PAGE + (a[2] ? 100 : 0);
	NEED(ftruncate(f->rw, (off_t)after) == 0);
	f->size = after;
	if (after > before && a[3])
		NEED(pwrite(f->wo, "grown", 5, (off_t)after - 5) == 5);
}

static void anonymous(const int *a)
{
	struct slot *s = &slots[a[0]];
	unmap(s);
	unsigned char *p = mmap(NULL, (size_t)a[1] * PAGE, PROT_READ | PROT_WRITE,
				(a[2] ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	NEED(p != MAP_FAILED);
	*s = (struct slot){p, (size_t)a[1], 0, -1, PROT_READ | PROT_WRITE};
}

static void attach(const int *a)
{
	struct slot *s = &slots[a[0]];
	unmap(s);
	unsigned char *p = shmat(segments[a[1]], NULL, a[2] ? SHM_RDONLY : 0);
	NEED(p != (void *)-1);
	*s = (struct slot){p, PAGES, 0, -1, a[2] ? PROT_READ : PROT_READ | PROT_WRITE};
}

static void part(const int *a)
{
	struct slot *s = &slots[a[0]];
	if (!s->at || s->pages < 2)
		return;
	if (a[1])
		NEED(munmap(s->at + (s->pages - 1) * PAGE, PAGE) == 0);
	else
		NEED(munmap(s->at, PAGE) == 0);
	s->at += a[1] ? 0 : PAGE;
	s->offset += a[1] ? 0 : 1;
	s->pages--;
}

/* A child stores, and looks. */
static void by_child(const int *a)
{
	int status;
	fflush(stdout);
	const pid_t child = fork();
	NEED(child >= 0);
	if (child == 0) {
		store(a);
		look();
		_exit((int)(sum % 100));
	}
	NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
	sum = sum * 31 + (unsigned)WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const int *a);
	} table[] = {{"map", map},        {"over", map_over}, {"store", store}, {"put", put},       {"poke", poke},
		     {"advise", advise},  {"prot", protect},  {"remap", remap}, {"keep", keep},     {"cut", cut},
		     {"anon", anonymous}, {"shmat", attach},  {"part", part},   {"child", by_child},
		     {"back", take_back}};
	NEED(argc == 3);
	setvbuf(stdout, NULL, _IOLBF, 1 << 12);
	for (int i = 0; i < FILES; i++)
		make(argv[1], i);
	for (int i = 0; i < SEGMENTS; i++)
		NEED((segments[i] = shmget(IPC_PRIVATE, PAGES * PAGE, 0600)) >= 0);
	unsigned number = 0;
	for (char *line = strtok(argv[2], "/"); line; line = strtok(NULL, "/")) {
		char name[16];
		int a[8] = {0};
		NEED(sscanf(line, "%15s %d %d %d %d %d %d %d", name, a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6) >= 1);
		for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
			if (!strcmp(name, table[i].name))
				table[i].run(a);
		look();
		store((const int[]){(int)(number % SLOTS), (int)number, 5}); /* seen at once, at every alias */
		look();
		printf("%u %s %08x\n", number++, name, sum);
	}
	for (int i = 0; i < SEGMENTS; i++)
		NEED(shmctl(segments[i], IPC_RMID, NULL) == 0);
	printf("end %08x\n", sum);
	for (int i = 0; i < SLOTS; i++) /* no call after it but exit */
		store((const int[]){i, i, i});
	return 0;
}
