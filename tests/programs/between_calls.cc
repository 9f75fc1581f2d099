// As between_calls.c, of a reference and of a member of an object.
#include <unistd.h>
#include <vector>

struct Box { double low = 0, high = 10; };

class Domain {
	std::vector<double> values_ = std::vector<double>(8, 1.0);
	Box box_;
	int reports_ = 0;

public:
	std::vector<double> &values() { return values_; }
	__attribute__((noipa)) void report()
	{
		getppid();
		reports_++;
	}
	Box &box() { return box_; }
};

static void __attribute__((noipa)) exchange(std::vector<double> &mine, const Box &limits)
{
	getppid();
	if (mine[0] > limits.high)
		getppid();
}

static void __attribute__((noipa)) move(double *at, Box *box, int turn)
{
	if (turn == 12)
		at[5] = 50; // wrong
	if (turn == 20)
		box->high = -1; // too low
}

int main()
{
	Domain domain;
	for (int turn = 0; turn < 30; turn++) {
		exchange(domain.values(), domain.box());
		move(domain.values().data(), &domain.box(), turn);
		domain.report();
	}
}
