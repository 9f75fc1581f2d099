/* Does work that a log holds, tells on descriptor 1 how far it has come.
 *
 * fault_work ROUNDS BYTES: in each round an odd call, a read of that many bytes, and the round's number
 * printed; at the end the sum of all that was read.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned char *buffer;
unsigned long sum, rounds;

int main(int argc, char **argv)
{
	long n = atol(argv[1]), size = atol(argv[2]);
	int fd = open("/dev/urandom", O_RDONLY);
	buffer = malloc((size_t)size + 1);
	for (long i = 0; i < n; i++) {
		syscall(SYS_getppid, i, 0, 0, 0, 0, 0);
		long got = read(fd, buffer, (size_t)size);
		for (long k = 0; k < got; k += 512)
			sum += buffer[k];
		rounds++;
		char line[32];
		int len = snprintf(line, sizeof(line), "%ld\n", i);
		if (write(1, line, (size_t)len) != len)
			return 9;
	}
	return (int)(rounds & 7);
}
