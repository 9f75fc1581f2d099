/* readv(2): with O_DIRECT over several buffers, a short read at the end of the file fills none but the first. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

int main(void)
{
	char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("file", O_CREAT | O_RDWR | O_DIRECT, 0600);
	struct iovec v[3] = {{memory, 4096}, {memory + 8192, 8192}, {memory + 32768, 4096}};

	if (fd < 0)
		skip("O_DIRECT");
	MUST(memory != MAP_FAILED);
	memset(memory, 'a', 65536);
	SAY(pwritev(fd, v, 3, 0));
	MUST(!ftruncate(fd, 5123));
	memset(memory, 'b', 65536);
	SAY(preadv(fd, v, 3, 0));
	printf("%c %c %c\n", memory[4095], memory[8192 + 1026], memory[32768]);
	SAY(preadv2(fd, v, 3, 4096, 0));
	SAY(preadv(fd, v, 3, 1));
	SAY(preadv(fd, v + 1, 1, 8192));
	printf("%c\n", memory[32768]);
	return 0;
}
