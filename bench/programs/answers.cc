// Steps of an allreduce each; a member of an object turns late: answers STEPS.
#include <cstdlib>
#include <memory>
#include <mpi.h>

class Domain {
  public:
    void run(int steps);

  private:
    void step(int i, int steps);
    double energy = 1;
};

__attribute__((noinline)) void Domain::step(int i, int steps)
{
    double dt = 1.0 / i;
    MPI_Allreduce(MPI_IN_PLACE, &dt, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (i == steps / 3 * 2)
        energy = -1;
}

__attribute__((noinline)) void Domain::run(int steps)
{
    for (int i = 1; i <= steps; i++)
        step(i, steps);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    std::make_unique<Domain>()->run(argc > 1 ? std::atoi(argv[1]) : 1000);
    MPI_Finalize();
}
