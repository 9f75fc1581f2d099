// A member that changes after the last event of the only member function that runs.
#include <unistd.h>

class Solver
{
public:
	__attribute__((noinline)) void solve()
	{
		for (int i = 0; i < 40; i++) {
			for (int j = 0; j < 20; j++) // too many changes to look at each
				rest_[j % 4] = rest_[(j + 1) % 4] + 1 + i;
			getppid();
		}
		rest_[2] = -7; // wrong
		turns_++;
	}
	double rest_[4] = {};
	int turns_ = 0;
};

int main()
{
	Solver *solver = new Solver;
	solver->solve();
	for (int i = 0; i < 20; i++)
		getppid();
	return solver->turns_ != 1;
}
