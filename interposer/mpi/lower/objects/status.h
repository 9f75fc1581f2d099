/* Conversion between MPI_Status of the program (Open MPI's layout) and of the real MPI. */
#pragma once
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct upper_status {
	int source, tag, error;
	int cancelled;
	size_t bytes;
};

int64_t status_bytes(const MPI_Status *status);
bool status_cancelled(const MPI_Status *status);
void status_in(MPI_Status *status, const struct upper_status *upper);
/* Writes a status unless it is MPI_STATUS_IGNORE (NULL); with_error: also the error field. */
void status_out(struct upper_status *upper, const MPI_Status *status, bool with_error);
/* The same without reporting it, for arrays, which are reported as a whole. */
void status_store(struct upper_status *upper, const MPI_Status *status, bool with_error);
extern const MPI_Status status_empty;

/* Goes into the error field before a call that may set it without an error: MPICH's probes do, but for some paths. */
enum { ERROR_UNSET = 0x52444221 };

/* Which calls set the error field when there is no error, the standard leaves open. */
enum {
#ifdef OPEN_MPI
	SETS_ERROR = true, /* MPI_Waitall, MPI_Testall, MPI_Waitsome, MPI_Testsome: also of null requests */
	SETS_ERROR_OF_NULL = true
#else
	SETS_ERROR = false, /* MPI_Waitall alone, of others than null requests, and MPI_Sendrecv_replace */
	SETS_ERROR_OF_NULL = MPICH_NUMVERSION >= 40200000 /* 4.2: also MPI_Waitall and MPI_Testall of null requests */
#endif
};
