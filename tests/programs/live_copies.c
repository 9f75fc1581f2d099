/* live_copies [closed]: copies this program's own file by copy_file_range(2), calls getppid(2), prints a sum of the
 * copy, deletes it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned char bytes[4096];
	unsigned long sum = 0;
	long n;
	const int from = open(argv[0], O_RDONLY);
	int to = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (from < 0 || to < 0)
		return 1;
	while ((n = copy_file_range(from, NULL, to, NULL, 1 << 20, 0)) > 0)
		;
	if (n)
		return 2;
	if (argc > 1)
		close(to);
	getppid();
	if (argc > 1)
		to = open("copy", O_RDONLY);
	lseek(to, 0, SEEK_SET);
	while ((n = read(to, bytes, sizeof(bytes))) > 0)
		for (long i = 0; i < n; i++)
			sum = sum * 31 + bytes[i];
	printf("%lu\n", sum);
	return unlink("copy") != 0;
}
