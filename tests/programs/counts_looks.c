/* Counts how often it looks at memory before another process writes there: no replay can do that again. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	volatile unsigned long *flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned long looks = 0;
	int there[2];
	char c;
	if (flag == MAP_FAILED || pipe(there))
		return 1;
	pid_t child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		close(there[1]);
		while (!flag[1])
			usleep(1000);
		*flag = 1;
		/* no signal of its end while the other one still looks */
		return read(there[0], &c, 1) != 0;
	}
	while (!*flag) {
		looks++;
		flag[1] = 1; /* it has looked */
	}
	close(there[0]);
	close(there[1]);
	waitpid(child, NULL, 0);
	printf("looks: %s\n", looks ? "some" : "none");
	return 0;
}
