/* MPI_Wtime, which goes on after a restart.  Values are the bits of a double. */
#pragma once
#include <stdint.h>

/* The value that MPI_Wtime returns now. */
int64_t wtime_now(void);
/* Sets the last value that the program got. */
void wtime_was(int64_t bits);
int64_t wtime_last(void);
/* From now on MPI_Wtime continues from this value. */
void wtime_go_on(void);
