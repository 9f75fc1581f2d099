/* What named.c takes of the ABI of MPI-5, whose header no package of Debian 12 has. */
#include <stdint.h>
typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Op *MPI_Op;
#define MPI_COMM_WORLD ((MPI_Comm)(intptr_t)257)
#define MPI_SUM ((MPI_Op)(intptr_t)33)
#define MPI_INT ((MPI_Datatype)(intptr_t)521)
int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int PMPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
