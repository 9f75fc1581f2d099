/* Open files that several processes of a tree have: they are made where they begin to be shared, not at the cut. */
#pragma once

/* Before a fork or an exec: shares the files that are open now. */
void tree_share(void);
/* In the child. */
void tree_share_in_child(void);
/* Writes down which flags this process has set. */
void tree_share_modes(void);
/* All processes have written their streams (streams.h): puts in pipes what was in them, and files where they were. */
void tree_share_fill(void);
/* Closes what the program has closed. */
void tree_share_close(void);
