/* MPI_Status as the program knows it (Open MPI's layout), to and from the real MPI's. */
#ifndef RDB_MPI_STATUS_H
#define RDB_MPI_STATUS_H
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
/* MPI_STATUS_IGNORE writes nothing; the error field only where the standard says so. */
void status_out(struct upper_status *upper, const MPI_Status *status, bool with_error);
/* The same without telling the boundary: for arrays, told as a whole. */
void status_store(struct upper_status *upper, const MPI_Status *status, bool with_error);
extern const MPI_Status status_empty;

#endif
