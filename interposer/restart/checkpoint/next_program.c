#include "restart/checkpoint/next_program.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lower.h"
#include "restart/checkpoint/ipc_objects.h"
#include "restart/files/own_numbers.h"
#include "restart/process/attributes.h"
#include "restart/process/identity.h"
#include "restart/process/scheduling.h"

static const struct {
	bool (*hand_on)(int fd), (*inherit)(int fd);
} parts[] = {
	{attributes_hand_on, attributes_inherit},   {scheduling_hand_on, scheduling_inherit},
	{identity_hand_on, identity_inherit},       {own_numbers_hand_on, own_numbers_inherit},
	{ipc_objects_hand_on, ipc_objects_inherit},
};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

void next_program_given(void)
{
	scheduling_begin();
	attributes_given();
	identity_begin();
}

int next_program_hand_on(void)
{
	int fd = memfd_create("next-program", 0);
	fd = fd < 0 ? -errno : lower_fd(fd); /* sets FD_CLOEXEC */
	if (fd < 0)
		return fd;
	bool whole = fcntl(fd, F_SETFD, 0) == 0;
	for (size_t i = 0; i < PARTS; i++)
		whole = whole && parts[i].hand_on(fd);
	return whole ? fd : -errno;
}

int next_program_take_over(int fd)
{
	bool whole = lseek(fd, 0, SEEK_SET) == 0;
	for (size_t i = 0; i < PARTS; i++)
		whole = whole && parts[i].inherit(fd);
	close(fd);
	return whole ? 0 : -EIO;
}
