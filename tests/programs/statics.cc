// Static members of classes in namespaces, and the functions that may name them.
#include <unistd.h>
#include <cstdio>
#define APART __attribute__((noinline))
namespace sim
{
struct Base {
	static int total;
};
int Base::total = 0;
class Solver : public Base
{
      public:
	static int count;
	static double limit;
	static constexpr int most = 42;
	static inline long made = 7;
	struct Inner {
		static int depth;
		APART int run(int i);
	};
	APART int step(int i);
	APART static int fixed(int i);
};
int Solver::count = 0;
double Solver::limit = 1.5;
int Solver::Inner::depth = 0;
namespace deep
{
APART int uses(int i)
{
	Solver::count += i;
	return getppid() * 0 + Solver::count;
}
struct Solver2 {
	static int count;
};
int Solver2::count = 5;
} // namespace deep
APART int Solver::Inner::run(int i)
{
	depth += i;
	Solver::made++;
	return getppid() * 0 + depth;
}
APART int Solver::step(int i)
{
	count += i;
	total += 2;
	return getppid() * 0 + count + total;
}
APART int Solver::fixed(int i)
{
	limit += i;
	return getppid() * 0 + int(limit);
}
} // namespace sim
namespace other
{
struct Solver {
	static int count;
};
int Solver::count = 99;
APART int f()
{
	Solver::count++;
	return getppid() * 0 + Solver::count;
}
} // namespace other
namespace both
{
using namespace sim;
using namespace other;
APART int g()
{
	return getppid() * 0 + sim::Solver::count + other::Solver::count;
}
} // namespace both
APART int one()
{
	using namespace sim;
	Solver::count++;
	return getppid() * 0 + Solver::count;
}
APART int aliased()
{
	namespace s = sim;
	using sim::Solver;
	Solver::count++;
	return getppid() * 0 + s::Solver::count;
}
template <class T> struct Box {
	static T held;
	APART T put(T v)
	{
		held += v;
		return getppid() * 0 + held;
	}
};
template <class T> T Box<T>::held = 0;
int main()
{
	sim::Solver solver;
	sim::Solver::Inner inner;
	Box<int> box;
	int sum = 0;
	for (int i = 0; i < 5; i++)
		sum += solver.step(i) + inner.run(i) + sim::Solver::fixed(i) + sim::deep::uses(i) + one() + aliased() +
		       other::f() + both::g() + box.put(i);
	std::printf("%d\n", sum);
	return 0;
}
