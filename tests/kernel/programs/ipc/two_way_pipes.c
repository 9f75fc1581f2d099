/* pipe(7), select(2): a server process answers several clients over pairs of pipes, whoever comes first. */
#include "../observe.h"
#include <sys/select.h>
#include <sys/wait.h>

enum { CLIENTS = 3, QUESTIONS = 6 };

int main(void)
{
	int ask[CLIENTS][2], answer[CLIENTS][2], status, open_ends = CLIENTS, total = 0;

	for (int i = 0; i < CLIENTS; i++) {
		MUST(!pipe(ask[i]) && !pipe(answer[i]));
		if (!fork()) {
			int value = i, sum = 0;
			for (int j = 0; j <= i; j++)
				close(ask[j][0]);
			for (int j = 0; j < i; j++)
				close(ask[j][1]);
			for (int n = 0; n < QUESTIONS; n++) {
				MUST(write(ask[i][1], &value, sizeof value) == sizeof value);
				MUST(read(answer[i][0], &value, sizeof value) == sizeof value);
				sum += value;
			}
			_exit(sum & 0xff);
		}
		close(ask[i][1]);
	}
	while (open_ends) {
		fd_set set;
		FD_ZERO(&set);
		for (int i = 0; i < CLIENTS; i++)
			if (ask[i][0] >= 0)
				FD_SET(ask[i][0], &set);
		MUST(select(FD_SETSIZE, &set, NULL, NULL, NULL) > 0);
		for (int i = 0; i < CLIENTS; i++) {
			int value;
			if (ask[i][0] < 0 || !FD_ISSET(ask[i][0], &set))
				continue;
			if (read(ask[i][0], &value, sizeof value) == sizeof value) {
				value = value * 2 + 1;
				MUST(write(answer[i][1], &value, sizeof value) == sizeof value);
			} else {
				close(ask[i][0]);
				ask[i][0] = -1;
				open_ends--;
			}
		}
	}
	while (wait(&status) > 0)
		total += WEXITSTATUS(status);
	printf("total %d\n", total);
	return 0;
}
