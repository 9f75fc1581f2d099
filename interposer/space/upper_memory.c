#include "space/upper_memory.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "space/arena.h"
#include "base/descriptors.h"

#define KNOWN_PAGES 1024

enum { CAN_READ = 1, CAN_WRITE = 2 };

static struct {
	int fd;
	uint32_t generation;
	pid_t pid, fd_pid;
	struct {
		uint64_t page;
		uint32_t generation;
		uint32_t can;
	} known[KNOWN_PAGES];
} mem = {.fd = -1, .generation = 1};

int upper_open(void)
{
	const int fd = open("/proc/thread-self/mem", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	mem.fd = descriptor_high(fd);
	upper_here();
	mem.fd_pid = mem.pid;
	return 0;
}

void upper_here(void)
{
	/* not getpid(): the C library's idea may be older than a raw clone */
	mem.pid = (pid_t)raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	upper_changed();
}

int upper_ready(void)
{
	upper_here();
	if (mem.fd >= 0 && mem.fd_pid == mem.pid)
		return 0;
	upper_close();
	return upper_open();
}

void upper_close(void)
{
	if (mem.fd >= 0)
		close(mem.fd);
	mem.fd = -1;
}

size_t upper_read(uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(mem.fd, (char *)buf + done, len - done, (off_t)(addr + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* For kernels that refuse forced writes through /proc/self/mem (proc_mem.force_override): makes the page writable for a
 * moment. */
static ssize_t write_unprotected(uint64_t addr, const void *buf, size_t len)
{
	struct mapping m;
	uint64_t page = addr & ~(RDB_PAGE - 1);
	ssize_t n;

	if (!arena_mapping_at(addr, &m))
		return -1;
	if (len > page + RDB_PAGE - addr)
		len = page + RDB_PAGE - addr;
	if (mprotect((void *)page, RDB_PAGE, m.prot | PROT_READ | PROT_WRITE))
		return -1;
	n = pwrite(mem.fd, buf, len, (off_t)addr);
	mprotect((void *)page, RDB_PAGE, m.prot);
	return n;
}

size_t upper_write(uint64_t addr, const void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		const char *from = (const char *)buf + done;
		ssize_t n = pwrite(mem.fd, from, len - done, (off_t)(addr + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			n = write_unprotected(addr + done, from, len - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* process_vm_readv/writev respect the page's protection, unlike /proc/self/mem. */
static uint32_t probe(uint64_t addr, uint32_t want)
{
	char byte;
	struct iovec here = {&byte, 1};
	struct iovec there = {(void *)addr, 1};

	if (process_vm_readv(mem.pid, &here, 1, &there, 1, 0) != 1)
		return 0;
	if (!(want & CAN_WRITE))
		return CAN_READ;
	if (process_vm_writev(mem.pid, &here, 1, &there, 1, 0) != 1)
		return CAN_READ;
	return CAN_READ | CAN_WRITE;
}

bool (*upper_refused)(uint64_t addr, bool write);

static bool page_can(uint64_t addr, uint32_t want)
{
	uint64_t page = addr / RDB_PAGE;
	unsigned slot = page % KNOWN_PAGES;

	if (mem.known[slot].page == page && mem.known[slot].generation == mem.generation &&
	    (mem.known[slot].can & want) == want)
		return true;
	mem.known[slot].page = page;
	mem.known[slot].generation = mem.generation;
	mem.known[slot].can = probe(addr, want);
	if ((mem.known[slot].can & want) != want && upper_refused && upper_refused(addr, want & CAN_WRITE))
		mem.known[slot].can = probe(addr, want);
	return (mem.known[slot].can & want) == want;
}

static bool range_can(uint64_t addr, size_t len, uint32_t want)
{
	if (!rdb_is_upper_range(addr, len))
		return false;
	if (!page_can(addr, want))
		return false;
	/* callers ask for at most a page at once */
	return addr / RDB_PAGE == (addr + len - 1) / RDB_PAGE || page_can(addr + len - 1, want);
}

bool upper_readable(uint64_t addr, size_t len)
{
	return range_can(addr, len, CAN_READ);
}

bool upper_writable(uint64_t addr, size_t len)
{
	return range_can(addr, len, CAN_READ | CAN_WRITE);
}

void upper_changed(void)
{
	mem.generation++;
}
