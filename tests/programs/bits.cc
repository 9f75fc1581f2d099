// Containers whose elements have no address.
#include <bitset>
#include <unistd.h>
#include <vector>

std::vector<bool> flags(131, true), none;
std::bitset<70> wide;
std::bitset<5> small;

void look() { getppid(); }

int main()
{
	wide.set();
	for (int i = 0; i < 3; i++) {
		flags[100 + i] = false;
		wide.reset(64 + i);
		small.set(i);
	}
	flags.erase(flags.begin() + 3);
	look();
	return 0;
}
