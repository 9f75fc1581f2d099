/* What a call that fails leaves in the handle that it should make, and the class of its error. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define TRY(type, null, call) \
	do { \
		type new, was; \
		int class; \
		memset(&was, 0x11, sizeof(was)); \
		new = was; \
		MPI_Error_class(call, &class); \
		printf("%s: class %d, %s\n", #call, class, new == was ? "as before" : new == null ? "null" : "made"); \
	} while (0)

static void comms(MPI_Comm self)
{
	int large = 100, zero = 0;

	TRY(MPI_Comm, MPI_COMM_NULL, MPI_Comm_dup(MPI_COMM_NULL, &new));
	TRY(MPI_Comm, MPI_COMM_NULL, MPI_Comm_create(self, MPI_GROUP_NULL, &new));
	TRY(MPI_Comm, MPI_COMM_NULL, MPI_Comm_split_type(self, 12345, 0, MPI_INFO_NULL, &new));
	TRY(MPI_Comm, MPI_COMM_NULL, MPI_Cart_create(self, 1, &large, &zero, 0, &new));
	TRY(MPI_Comm, MPI_COMM_NULL, MPI_Graph_create(self, 50, &zero, &zero, 0, &new));
	TRY(MPI_Group, MPI_GROUP_NULL, MPI_Comm_group(MPI_COMM_NULL, &new));
	TRY(MPI_File, MPI_FILE_NULL, MPI_File_open(self, "/nowhere/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &new));
}

static void types(void)
{
	TRY(MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_contiguous(-1, MPI_INT, &new));
	TRY(MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_dup(MPI_DATATYPE_NULL, &new));
	TRY(MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_create_f90_integer(200, &new));
	TRY(MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_create_f90_real(2000, 99999, &new));
	TRY(MPI_Datatype, MPI_DATATYPE_NULL, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &new));
}

/* `gaps`: not committed */
static void requests(MPI_Comm self, MPI_Datatype gaps)
{
	int room[4];

	TRY(MPI_Request, MPI_REQUEST_NULL, MPI_Irecv(room, 1, MPI_DATATYPE_NULL, 0, 0, self, &new));
	TRY(MPI_Request, MPI_REQUEST_NULL, MPI_Irecv(room, 1, gaps, 0, 0, self, &new));
	TRY(MPI_Request, MPI_REQUEST_NULL, MPI_Recv_init(room, 1, MPI_DATATYPE_NULL, 0, 0, self, &new));
	TRY(MPI_Request, MPI_REQUEST_NULL, MPI_Recv_init(room, 1, gaps, 0, 0, self, &new));
	TRY(MPI_Request, MPI_REQUEST_NULL, MPI_Send_init(room, 1, gaps, 0, 0, self, &new));
	TRY(MPI_Request, MPI_REQUEST_NULL, MPI_Ibcast(room, 1, gaps, 0, self, &new));
}

int main(int argc, char **argv)
{
	MPI_Datatype gaps;

	MPI_Init(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
	comms(MPI_COMM_SELF);
	types();
	requests(MPI_COMM_SELF, gaps);
	MPI_Finalize();
	return 0;
}
