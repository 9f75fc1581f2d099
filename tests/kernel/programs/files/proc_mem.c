/* proc_pid_mem(5): reads and writes memory at its addresses, also what is read-only; what is not there is EIO. */
#include "../observe.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

static char text[] = "the text";

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), got[16] = "";
	int fd = open("/proc/self/mem", O_RDWR);

	MUST(fd >= 0 && memory != MAP_FAILED);
	SAY(pread(fd, got, 9, (off_t)(uintptr_t)text));
	puts(got);
	SAY(pwrite(fd, "THE", 3, (off_t)(uintptr_t)text));
	puts(text);
	strcpy(memory, "sealed");
	MUST(!mprotect(memory, page, PROT_READ));
	SAY(pwrite(fd, "S", 1, (off_t)(uintptr_t)memory));
	puts(memory);
	MUST(!munmap(memory + page, page));
	SAY(pread(fd, got, 16, (off_t)(uintptr_t)memory + page - 5));
	SAY(pread(fd, got, 16, (off_t)(uintptr_t)memory + page));
	SAY(lseek(fd, (off_t)(uintptr_t)text, SEEK_SET) == (off_t)(uintptr_t)text);
	SAY(read(fd, got, 3));
	SAY(read(fd, got, 5));
	printf("%.5s\n", got);
	SAY(write(fd, text, 0));
	return 0;
}
