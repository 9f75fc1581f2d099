// `//=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `//0N` is of
// a variable that optimisation may leave out.
#include <cmath>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace mesh {

struct Cell {
    double w[4] = {1, 1, 1, 1};
    bool fine = true;
};

volatile long level;

class Domain {
  public:
    void run(int steps);
    static volatile int runs;

  private:
    void step(int i);
    double energy = 1;
    Cell cells[3];
    bool &alias = cells[1].fine;
};

volatile int Domain::runs;

__attribute__((noinline)) void Domain::step(int i)
{
    double s = i;
    if (i > 30)
        s = -1; //032 s > 0
    if (i == 30)
        energy = NAN; //030 energy == energy
    if (i == 26)
        cells[1].fine = false; //026 alias
    if (i == 25)
        this->cells[2].w[3] = -1; //025 cells[2].w[3] > 0
    runs = i; //=34 mesh::Domain::runs < 33
    level = i + (s < 0); //=40 mesh::level < 40
    syscall(SYS_getppid);
}

__attribute__((noinline)) void Domain::run(int steps)
{
    for (int i = 1; i <= steps; i++) {
        step(i);
        if (i == 30)
            syscall(SYS_getppid);
    }
}

} // namespace mesh

int main()
{
    auto domain = std::make_unique<mesh::Domain>();
    std::vector<int> seen(3, 1);
    domain->run(60);
    return seen[0] - 1;
}
