/* copy_file_range(2): offsets, the end of the file, overlapping ranges, kinds of descriptor. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(void)
{
	char text[32] = "";
	off_t in = 5, out = 2;
	int from, to, reading, append, two[2];

	MUST((from = open("from", O_CREAT | O_RDWR, 0600)) >= 0 && (to = open("to", O_CREAT | O_RDWR, 0600)) >= 0);
	MUST((reading = open("to", O_RDONLY)) >= 0 && (append = open("to", O_WRONLY | O_APPEND)) >= 0 && !pipe(two));
	MUST(write(from, "0123456789", 10) == 10 && !lseek(from, 0, SEEK_SET));
	SAY(copy_file_range(from, NULL, to, NULL, 4, 0));
	SAY(lseek(from, 0, SEEK_CUR));
	SAY(lseek(to, 0, SEEK_CUR));
	SAY(copy_file_range(from, &in, to, &out, 100, 0));
	printf("%ld %ld\n", (long)in, (long)out);
	SAY(copy_file_range(from, &in, to, &out, 100, 0));
	SAY(pread(to, text, sizeof text, 0));
	puts(text);
	in = 0;
	out = 5;
	SAY(copy_file_range(from, &in, from, &out, 5, 0));
	in = 0;
	out = 2;
	SAY(copy_file_range(from, &in, from, &out, 5, 0));
	SAY(copy_file_range(from, &in, reading, NULL, 1, 0));
	SAY(copy_file_range(from, &in, append, NULL, 1, 0));
	SAY(copy_file_range(from, &in, two[1], NULL, 1, 0));
	SAY(copy_file_range(open(".", O_RDONLY), NULL, to, NULL, 1, 0));
	SAY(copy_file_range(from, NULL, to, NULL, 1, 1));
	SAY(copy_file_range(from, (off_t *)8, to, NULL, 1, 0));
	MUST(!pread(to, text, 0, 0));
	return 0;
}
