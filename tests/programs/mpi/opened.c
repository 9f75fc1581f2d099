/* An MPI library that is opened by a name without a version, as mpi4py's wheels do: which ABI, then which MPI. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	assert(argc == 2);
	void *mpi = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!mpi) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	int (*abi)(int *, int *) = (int (*)(int *, int *))dlsym(mpi, "MPI_Abi_get_version");
	int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(mpi, "MPI_Init");
	int (*finalize)(void) = (int (*)(void))dlsym(mpi, "MPI_Finalize");
	int major = -1, minor = -1;
	if (abi)
		assert(!abi(&major, &minor));
	assert(!init(NULL, NULL));
	assert(!finalize());
	printf("abi %d.%d, %s\n", major, minor, dlsym(mpi, "ompi_mpi_comm_self") ? "openmpi" : "mpich");
	return 0;
}
