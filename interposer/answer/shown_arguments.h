/* /proc/PID/cmdline and /proc/PID/environ, as other processes see them: the program's, which may write a title there. */
#pragma once

/* Once the program's stack is made.  Where the kernel cannot do it (CONFIG_CHECKPOINT_RESTORE) they see rdb's. */
void arguments_show(void);
