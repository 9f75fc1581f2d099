/* open(2): O_DIRECT: aligned transfers work, others are EINVAL; fcntl can switch it; cached readers see it. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>

int main(void)
{
	char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), text[8] = "";
	int fd = open("file", O_CREAT | O_RDWR | O_DIRECT, 0600), cached;

	if (fd < 0)
		skip("O_DIRECT");
	MUST(memory != MAP_FAILED && (cached = open("file", O_RDWR)) >= 0);
	memset(memory, 'a', 8192);
	SAY(write(fd, memory, 8192));
	SAY(write(fd, memory + 1, 4096));
	SAY(write(fd, memory, 100));
	SAY(pwrite(fd, memory, 4096, 1));
	SAY(pread(cached, text, 4, 4096));
	puts(text);
	SAY(pwrite(cached, "cached", 6, 0));
	SAY(pread(fd, memory + 16384, 32768, 0));
	printf("%.8s\n", memory + 16384);
	SAY(pread(fd, memory + 16384, 4096, 8192));
	printf("%x\n", fcntl(fd, F_GETFL) & O_DIRECT);
	SAY(fcntl(fd, F_SETFL, 0));
	SAY(pwrite(fd, "odd", 3, 1));
	SAY(fcntl(fd, F_SETFL, O_DIRECT));
	SAY(pwrite(fd, "odd", 3, 1));
	MUST(!ftruncate(fd, 5000));
	SAY(pread(fd, memory, 8192, 0));
	printf("%.8s\n", memory);
	return 0;
}
