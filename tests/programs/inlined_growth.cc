// A container's inline function, in a lambda that is inlined itself: the compiler mixes their lines.
#include <array>
#include <unistd.h>
#include <vector>

struct Atom {
	int id = 0, type = 0;
	std::array<double, 3> x{}, v{}, f{};
};

class Domain
{
public:
	void migrate(const std::vector<Atom> &left, const std::vector<Atom> &right, double box)
	{
		auto add = [&](std::vector<Atom> in) {
			for (auto &a : in) {
				if (a.x[0] < 0)
					a.x[0] += box;
				if (a.x[0] >= box)
					a.x[0] -= box;
				atoms_.push_back(a); // grows
			}
		};
		add(left);
		add(right);
	}
	std::vector<Atom> atoms_ = std::vector<Atom>(4);
};

int main()
{
	Domain domain;
	std::vector<Atom> none, one(1);

	domain.atoms_.reserve(100);
	for (int i = 0; i < 40; i++) {
		getppid();
		domain.migrate(none, i % 10 == 9 ? one : none, i);
	}
	return domain.atoms_.size() != 8;
}
