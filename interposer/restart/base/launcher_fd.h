/* What MPICH's launcher gives each process, on the way to a cut: a descriptor for its messages, and 1 and 2.  When no
 * process has the pipes of 1 and 2 any more, the launcher waits for the processes to end and answers no messages. */
#pragma once

/* Moves the descriptor away from the program's numbers, which are closed at the cut, and keeps 1 and 2 open. */
void launcher_fd_hide(void);
/* Keeps the descriptor open over execve(2). */
void launcher_fd_keep(void);
