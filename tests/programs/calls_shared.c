/* Memory mapped shared: files, memfd, System V, anonymous over a fork; written by stores, through
 * descriptors and by a child. */
#include "calls.h"
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PAGE = 4096, LEN = 8 * PAGE };

static unsigned sum(const volatile unsigned char *p, size_t n)
{
	unsigned s = 0;
	for (size_t i = 0; i < n; i++)
		s = s * 31 + p[i];
	return s;
}

static void file(const char *dir)
{
	char name[128], buf[16];
	snprintf(name, sizeof(name), "%s/mapped", dir);
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(fd >= 0 && write(fd, "what the file had", 17) == 17 && ftruncate(fd, LEN) == 0);
	char *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED && !memcmp(p, "what the file had", 17));
	memcpy(p + 100, "by a store", 10);
	NEED(pread(fd, buf, 10, 100) == 10 && !memcmp(buf, "by a store", 10));
	NEED(pwrite(fd, "by a write", 10, 5000) == 10 && !memcmp(p + 5000, "by a write", 10));
	char *q = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE); /* the same page at two places */
	NEED(q != MAP_FAILED && !memcmp(q + 5000 - PAGE, "by a write", 10));
	p[5000] = 'B';
	getppid();
	NEED(q[5000 - PAGE] == 'B' && msync(p, LEN, MS_SYNC) == 0);
	NEED(ftruncate(fd, PAGE) == 0 && ftruncate(fd, LEN) == 0 && p[5000] == 0);
	p[6000] = 'x';
	NEED(madvise(p, LEN, MADV_DONTNEED) == 0 && p[6000] == 'x' && p[100] == 'b');
	char *r = mremap(p, LEN, 2 * LEN, MREMAP_MAYMOVE);
	NEED(r != MAP_FAILED && r[6000] == 'x' && ftruncate(fd, 2 * LEN) == 0);
	r[LEN + 5] = 'y';
	NEED(munmap(r + PAGE, PAGE) == 0 && munmap(q, PAGE) == 0);
	printf("file %x\n", sum((void *)r, PAGE));
	struct stat st;
	NEED(fstat(fd, &st) == 0 && munmap(r, 2 * LEN) == 0 && pread(fd, buf, 1, LEN + 5) == 1 && buf[0] == 'y');
	int ro = open(name, O_RDONLY);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, ro, 0);
	NEED(p != MAP_FAILED && p[100] == 'b');
	NEED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ro, 0) == MAP_FAILED && errno == EACCES);
	close(ro);
	close(fd);
	NEED(munmap(p, PAGE) == 0);
}

static void nameless(void)
{
	int fd = memfd_create("rdb", MFD_CLOEXEC);
	NEED(fd >= 0 && ftruncate(fd, LEN) == 0);
	unsigned char *w = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned char *r = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE, fd, 0);
	NEED(w != MAP_FAILED && r != MAP_FAILED);
	for (int i = 0; i < LEN; i++)
		w[i] = (unsigned char)(i * 7);
	NEED(mprotect(w, PAGE, PROT_NONE) == 0 && getppid() > 0 && mprotect(w, PAGE, PROT_READ) == 0);
	NEED(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE) == 0 && w[PAGE + 1] == 0);
	NEED(madvise(w + 2 * PAGE, PAGE, MADV_REMOVE) == 0 && w[2 * PAGE + 1] == 0);
	printf("memfd %x\n", sum(w, LEN));
	close(fd);
}

static void system_v(void)
{
	int id = shmget(IPC_PRIVATE, LEN - 100, 0600);
	struct shmid_ds ds;
	unsigned char *a = shmat(id, NULL, 0);
	NEED(id >= 0 && a != (void *)-1);
	NEED(shmctl(id, IPC_STAT, &ds) == 0 && ds.shm_nattch == 1);
	memset(a + 10, 5, 2 * PAGE);
	unsigned char *b = shmat(id, NULL, SHM_RDONLY);
	NEED(b != (void *)-1 && b[11] == 5 && shmctl(id, IPC_RMID, NULL) == 0);
	a[11] = 6;
	getppid();
	NEED(b[11] == 6 && shmdt(a) == 0);
	printf("System V %x\n", sum(b, LEN));
	NEED(shmdt(b) == 0 && shmdt(b) == -1 && errno == EINVAL);
}

static void over_a_fork(void)
{
	volatile unsigned *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int to[2], back[2];
	char c = 0;
	NEED(p != MAP_FAILED && pipe(to) == 0 && pipe(back) == 0);
	p[0] = 1;
	p[2000] = 2;
	fflush(stdout);
	pid_t pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		for (unsigned i = 0; i < 5; i++) {
			NEED(read(to[0], &c, 1) == 1);
			p[0] = p[0] * 3 + i;
			p[2001] += p[0];
			NEED(write(back[1], &c, 1) == 1);
		}
		_exit(p[0] & 0x7f);
	}
	for (unsigned i = 0; i < 5; i++) {
		p[0]++;
		NEED(write(to[1], &c, 1) == 1 && read(back[0], &c, 1) == 1);
		printf("%u %u\n", p[0], p[2001]);
	}
	int status;
	NEED(waitpid(pid, &status, 0) == pid);
	printf("child %x, %u\n", status, p[2000]);
}

int main(void)
{
	char dir[] = "/tmp/rdb-shared-XXXXXX", name[64];
	NEED(mkdtemp(dir));
	snprintf(name, sizeof(name), "%s/mapped", dir);
	file(dir);
	NEED(unlink(name) == 0 && rmdir(dir) == 0);
	nameless();
	system_v();
	over_a_fork();
	puts("ok");
}
