/* Ends a replay that does not go on: `--verify` has no user who would interrupt it. */
#pragma once

/* --verify: from here on a program that makes no event for far longer than in the recording has diverged.  Measured in
 * processor time, so that other load does not count. */
void patience_begin(void);
