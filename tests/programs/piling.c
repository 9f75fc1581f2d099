/* Polls `turns` times, and nothing is there.  argv: kind, turns.  stuck: that is all; works: a byte is written now and then. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int works = argc > 1 && !strcmp(argv[1], "works"), turns = argc > 2 ? atoi(argv[2]) : 0;
	const int out = open("/dev/null", O_WRONLY);
	for (int i = 1; i <= turns; i++) {
		poll(NULL, 0, 0);
		if (works && i % 1000000 == 0 && write(out, "", 1) != 1)
			return 1;
	}
	return 0;
}
