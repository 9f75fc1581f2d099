/* mmap(2): which descriptors and modes can be mapped how. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void map(const char *what, int protection, int flags, int fd, long offset, size_t length)
{
	void *memory = mmap(NULL, length, protection, flags, fd, offset);

	printf("%s: %s\n", what, memory == MAP_FAILED ? strerrorname_np(errno) : "ok");
}

int main(void)
{
	int reading, writing, both, two[2], dir;

	MUST((both = open("file", O_CREAT | O_RDWR, 0600)) >= 0 && !ftruncate(both, 8192) && !pipe(two));
	MUST((reading = open("file", O_RDONLY)) >= 0 && (writing = open("file", O_WRONLY)) >= 0);
	MUST((dir = open(".", O_RDONLY)) >= 0);
	map("shared to write, open to read", PROT_READ | PROT_WRITE, MAP_SHARED, reading, 0, 4096);
	map("private to write, open to read", PROT_READ | PROT_WRITE, MAP_PRIVATE, reading, 0, 4096);
	map("shared to write, open to write", PROT_WRITE, MAP_SHARED, writing, 0, 4096);
	map("private, open to write", PROT_READ, MAP_PRIVATE, writing, 0, 4096);
	map("neither shared nor private", PROT_READ, 0, both, 0, 4096);
	map("validated", PROT_READ, MAP_SHARED_VALIDATE, both, 0, 4096);
	map("MAP_SYNC", PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, both, 0, 4096);
	map("odd offset", PROT_READ, MAP_SHARED, both, 100, 4096);
	map("offset behind the end", PROT_READ, MAP_SHARED, both, 1 << 20, 4096);
	map("no length", PROT_READ, MAP_SHARED, both, 0, 0);
	map("too long", PROT_READ, MAP_SHARED, both, 0, 1UL << 60);
	map("offset too large", PROT_READ, MAP_SHARED, both, 0x7ffffffffffff000, 8192);
	map("no descriptor", PROT_READ, MAP_SHARED, 99, 0, 4096);
	map("anonymous ignores it", PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 99, 0, 4096);
	map("folder", PROT_READ, MAP_SHARED, dir, 0, 4096);
	map("pipe", PROT_READ, MAP_PRIVATE, two[0], 0, 4096);
	map("proc", PROT_READ, MAP_PRIVATE, open("/proc/version", O_RDONLY), 0, 4096);
	map("null", PROT_READ, MAP_PRIVATE, open("/dev/null", O_RDONLY), 0, 4096);
	map("zero", PROT_READ, MAP_SHARED, open("/dev/zero", O_RDWR), 0, 4096);
	return 0;
}
