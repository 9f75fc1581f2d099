// Arrays that are computed with.
#include <complex>
#include <vector>

extern "C" void look(int n)
{
	if (n < 0)
		throw n;
}

int main()
{
	int k[5] = {1, 2, 3, 4, -7}, table[3][4] = {{0, 1}, {9, 9}, {2}};
	unsigned char flags[4] = {1, 3, 5, 255};
	double v[3] = {2.5, -1, 4};
	std::vector<unsigned long> big{1UL << 63, 3, ~0UL};
	std::vector<std::complex<double>> z{{1, 2}, {3, -4}};
	std::vector<bool> bits{true, false, true};
	std::vector<double> none;

	look(k[0] + table[1][1] + flags[0] + (int)v[0] + bits[0]);
	return big.size() + z.size() + none.size() != 5;
}
