/* syscall(2): a number that no kernel has answers ENOSYS, in each process, and the program goes on. */
#include "../observe.h"
#include <limits.h>
#include <sys/wait.h>

int main(void)
{
	static const long numbers[] = {-1, -10, 1000, 1023, 4096, 99999, INT_MAX, INT_MIN};
	int status;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		SAY(syscall(numbers[i], 1, 2, 3, 4, 5, 6));
	const pid_t child = fork();
	MUST(child >= 0);
	if (!child)
		_exit(syscall(9999) == -1 ? errno : 0);
	MUST(waitpid(child, &status, 0) == child);
	printf("child: %d\n", WEXITSTATUS(status) == ENOSYS);
	return 0;
}
