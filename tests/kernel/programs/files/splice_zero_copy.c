/* vmsplice(2): the pipe refers to the pages: what is stored before the other end reads is what it reads. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

int main(void)
{
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), text[16] = "";
	struct iovec v = {memory, 8192};
	int two[2], file;

	MUST(memory != MAP_FAILED && !pipe(two) && (file = open("file", O_CREAT | O_RDWR, 0600)) >= 0);
	strcpy(memory, "before");
	strcpy(memory + 4096, "second");
	SAY(vmsplice(two[1], &v, 1, SPLICE_F_NONBLOCK));
	strcpy(memory, "after");
	SAY(read(two[0], text, 7));
	puts(text);
	strcpy(memory + 4096, "SECOND");
	SAY(splice(two[0], NULL, file, NULL, 8192, 0));
	SAY(pread(file, text, 7, 4096 - 7));
	puts(text);
	/* a page of the file in the pipe */
	MUST(pwrite(file, "cached", 7, 0) == 7);
	off_t at = 0;
	SAY(splice(file, &at, two[1], NULL, 7, 0));
	MUST(pwrite(file, "CACHED", 7, 0) == 7);
	SAY(read(two[0], text, 7));
	printf("one of both: %d\n", !strcasecmp(text, "cached"));
	return 0;
}
