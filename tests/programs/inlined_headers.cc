// Stores through inline functions of the library's headers, in functions that are inlined themselves.
#include <cmath>
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <vector>

class Chain {
public:
	explicit Chain(int count) : m_energy(count, 1.0), m_volume(count, 1.0), m_pressure(count, 0.0)
	{
	}
	double &energy(int i) { return m_energy[i]; }
	double &volume(int i) { return m_volume[i]; }
	double &pressure(int i) { return m_pressure[i]; }
	int count() const { return static_cast<int>(m_energy.size()); }

private:
	std::vector<double> m_energy, m_volume, m_pressure;
};

static void states(Chain &chain, std::vector<double> &work, int cycle)
{
	(void)!write(1, ".", 1);
	for (int i = 0; i < chain.count(); i++) {
		work[i] = chain.pressure(i) * (1 - chain.volume(i));
		chain.energy(i) -= work[i];
		if (cycle == 7 && i == 3)
			chain.volume(i) = -chain.volume(i);
		chain.pressure(i) = std::sqrt(chain.energy(i) * 0.4 / chain.volume(i)); // not a number
	}
}

int main()
{
	auto chain = std::make_unique<Chain>(10);
	std::vector<double> work(10);

	for (int cycle = 0; cycle < 20; cycle++) {
		states(*chain, work, cycle);
	}
	(void)!write(1, "\n", 1);
	printf("%g\n", chain->pressure(3));
	return 0;
}
