/* membarrier(2): MEMBARRIER_CMD_QUERY tells the commands; a private expedited one needs its registration. */
#include "../observe.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>

int main(void)
{
	long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (can < 0 || !(can & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		skip("membarrier");
	SAY(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
	SAY(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
	SAY(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0));
	SAY(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
	SAY(syscall(SYS_membarrier, 1 << 25, 0, 0));
	SAY(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 1, 0) < 0);
	return 0;
}
