/* What a program that replaces itself (execve(2)) leaves to the next one, for that one's checkpoints and restarts. */
#pragma once

/* Notes what the launcher has given the process: before the program, or a restart on the way to it, changes that. */
void next_program_given(void);

/* The descriptor of a file that holds it, or -errno. */
int next_program_hand_on(void);
/* Reads that file, and closes it. 0 or -errno. */
int next_program_take_over(int fd);
