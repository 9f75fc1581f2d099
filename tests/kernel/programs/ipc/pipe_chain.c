/* pipe(7): a chain of processes, each of which reads, changes and writes on, as a shell makes it; the end comes when all writers are gone. */
#include "../observe.h"
#include <ctype.h>
#include <sys/wait.h>

int main(void)
{
	int first[2], in, status;
	static const char text[] = "what goes in comes out\n";
	char c;

	MUST(!pipe(first));
	in = first[0];
	for (int stage = 0; stage < 4; stage++) {
		int next[2];

		MUST(!pipe(next));
		if (!fork()) {
			close(first[1]);
			close(next[0]);
			while (read(in, &c, 1) == 1) {
				c = (char)(stage % 2 ? tolower(c) : toupper(c));
				MUST(write(next[1], &c, 1) == 1);
			}
			_exit(stage);
		}
		close(next[1]);
		if (stage)
			close(in);
		in = next[0];
	}
	close(first[0]);
	MUST(write(first[1], text, sizeof text - 1) == sizeof text - 1);
	close(first[1]);
	while (read(in, &c, 1) == 1)
		putchar(c);
	int sum = 0;
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	printf("sum %d\n", sum);
	return 0;
}
