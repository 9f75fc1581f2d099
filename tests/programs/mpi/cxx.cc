// A C++ program, with the C functions and with the C++ bindings that Open MPI 4.1 still has.
#include <iostream>
#include <mpi.h>
#include <numeric>
#include <sstream>
#include <vector>

int main(int argc, char **argv)
{
	int rank, sum;

	MPI::Init(argc, argv);
	rank = MPI::COMM_WORLD.Get_rank();
	MPI::COMM_WORLD.Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);

	std::vector<double> mine(1000), all(1000);
	std::iota(mine.begin(), mine.end(), rank);
	MPI_Allreduce(mine.data(), all.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

	std::ostringstream line;
	line << rank << ": sum " << sum << " " << all[10] << "\n";
	std::cout << line.str();
	MPI::Finalize();
	return 0;
}
