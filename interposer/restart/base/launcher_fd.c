#include "restart/base/launcher_fd.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/descriptors.h"
#include "restart/base/cut.h"

static int given(void)
{
	const char *text = getenv("PMI_FD");
	return text ? atoi(text) : -1;
}

void launcher_fd_hide(void)
{
	static bool hidden;
	int fd = hidden ? -1 : given();
	char number[16];
	hidden = true;
	if (fd < 0 || fcntl(fd, F_GETFD) < 0)
		return;
	fd = lower_fd(fd);
	if (fd < 0)
		live_refuse("no descriptor for the launcher's messages: %s", strerror(-fd));
	snprintf(number, sizeof(number), "%d", fd);
	setenv("PMI_FD", number, 1);
	for (int output = 1; output <= 2; output++)
		lower_fd(dup(output)); /* none if the program has none */
}

void launcher_fd_keep(void)
{
	const int fd = given();
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}
