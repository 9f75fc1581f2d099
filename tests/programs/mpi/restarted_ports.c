/* Two ranks that meet by the name of a service, and by the port; the name and the port stay. */
#include "check.h"

static void meet(const char *port, MPI_Comm *inter)
{
	int mine = 10 + rank, other = 0;

	if (rank == 0)
		OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter));
	else
		OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter));
	OK(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, *inter, MPI_STATUS_IGNORE));
	CHECK(other == 11 - rank);
}

int main(int argc, char **argv)
{
	char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "", sent[MPI_MAX_PORT_NAME];
	int sum = 0, all;
	MPI_Comm inter;

	begin(&argc, &argv);
	if (rank == 0) {
		OK(MPI_Open_port(MPI_INFO_NULL, port));
		OK(MPI_Publish_name("restarted-ports", MPI_INFO_NULL, port));
	}
	memcpy(sent, port, sizeof(sent));
	OK(MPI_Bcast(sent, sizeof(sent), MPI_CHAR, 0, MPI_COMM_WORLD));
	OK(MPI_Lookup_name("restarted-ports", MPI_INFO_NULL, found));
	CHECK(!strcmp(found, sent));
	meet(found, &inter);
	for (int round = 0; round < 4; round++) {
		OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		sum += all;
	}
	OK(MPI_Comm_disconnect(&inter));
	CHECK(sum == 4);
	if (rank == 0) {
		OK(MPI_Unpublish_name("restarted-ports", MPI_INFO_NULL, port));
		OK(MPI_Close_port(port));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return end();
}
