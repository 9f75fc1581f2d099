// C++: containers, exceptions through frames, streams, static constructors.
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

struct Registered {
	static std::vector<std::string> &names()
	{
		static std::vector<std::string> list;
		return list;
	}
	explicit Registered(const char *name) { names().push_back(name); }
};

static Registered first("first"), second("second");

static int thrower(int depth)
{
	std::string local(static_cast<size_t>(depth) * 10, 'x');
	if (depth == 0)
		throw std::runtime_error("bottom");
	return thrower(depth - 1) + static_cast<int>(local.size());
}

int main()
{
	std::random_device device;
	std::mt19937 generator(device());
	std::map<int, std::string> table;
	for (int i = 0; i < 500; i++)
		table[static_cast<int>(generator() % 1000)] = std::to_string(i);
	int caught = 0;
	for (int i = 0; i < 5; i++) {
		try {
			thrower(i);
		} catch (const std::exception &e) {
			caught += static_cast<int>(std::string(e.what()).size());
		}
	}
	auto now = std::chrono::system_clock::now().time_since_epoch().count();
	std::cout << table.size() << " " << caught << " " << now << " " << Registered::names().size() << std::endl;
	return 0;
}
