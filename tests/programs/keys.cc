// Maps with many kinds of keys; each step prints the elements that the test reads.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sim
{

enum class Color { red, green = 7 };
struct Cell {
	double mass;
	int n[3];
};
struct Table : std::map<std::string, long> {
};
struct Caseless {
	bool operator()(const std::string &a, const std::string &b) const { return (a[0] | 32) < (b[0] | 32); }
};

struct All {
	std::map<std::string, double> named;
	std::unordered_map<std::string, Cell> cells;
	std::map<int, Cell> by_number;
	std::unordered_map<long, double> by_long;
	std::map<unsigned char, int> by_byte;
	std::map<char, int> by_char;
	std::map<bool, int> by_bool;
	std::unordered_map<unsigned long, int> by_large;
	std::map<Color, int> by_color;
	std::map<std::string_view, int> by_view;
	std::map<int, int, std::greater<int>> falling;
	std::map<std::string, int, std::less<>> open;
	std::vector<std::map<std::string, int>> each;
	std::array<std::unordered_map<int, double>, 2> pair;
	std::map<std::string, int> plain[2];
	std::map<std::string, std::vector<double>> rows;
	std::map<std::string, std::map<int, int>> nested;
	std::map<std::string, std::string> texts;
	std::map<std::string, int, Caseless> caseless;
	std::multimap<std::string, int> many;
	Table derived;
	int index = 1;
	std::string key = "key 3";
};

All all;

__attribute__((noinline)) int step(All &of, const All *at, int i)
{
	std::string name = "key " + std::to_string(i * 7 % 50);
	for (int k = 0; k < 50; k++) {
		std::string key = "key " + std::to_string(k);
		of.named[key] = k * 1.5 + i;
		of.cells[key + " and what makes it long"].n[1] = k * 10 + i;
		of.by_number[k - 25].mass = k / 4.0 + i;
		of.by_long[(k - 25) * 10000000000] = k + i;
		of.by_byte[(unsigned char)(k * 5)] = k + i;
		of.by_char[(char)('A' + k)] = k * 2 + i;
		of.by_large[-1UL - k] = k * 3 + i;
		of.falling[k * 3] = k + i;
		of.open[key] = k - i;
		of.derived[key] = k * 100L + i;
	}
	of.by_bool[true] = i;
	of.by_color[Color::green] = i + 1;
	of.by_view["view"] = i + 2;
	of.each.resize(3);
	of.each[2]["say \"it\""] = i + 3;
	of.pair[1][-5] = i + 0.25;
	of.plain[1]["[x]"] = i + 4;
	of.rows["row"] = {1.0 * i, 2.0 * i, 3.0 * i};
	of.nested["one"][4] = i + 5;
	of.texts["greets"] = i % 2 ? "hello" : "goodbye";
	of.caseless["A"] = i;
	of.many.insert({"many", i});
	if (i == 3)
		of.named["late"] = 1;
	// Printed as GDB prints them, in the order of the test.
	std::printf("%g %d %g %g %d %d %d %d %d %d %d %d %d %g %d %g %d %d %ld %g %g\n", of.named["key 49"],
		    of.cells["key 7 and what makes it long"].n[1], of.by_number[-25].mass, of.by_long[-30000000000],
		    of.by_byte[245], of.by_char['C'], of.by_bool[true], of.by_large[-3UL], of.by_color[Color::green],
		    of.by_view["view"], of.falling[27], of.open["key 0"], of.each[2]["say \"it\""], of.pair[1][-5],
		    of.plain[1]["[x]"], of.rows["row"][2], of.nested["one"][4], of.each[of.index + 1]["say \"it\""],
		    of.derived["key 11"], of.named[of.key], at->named.at(name));
	std::fflush(stdout);
	return getppid() * 0 + (int)name.size();
}

} // namespace sim

int main()
{
	int sum = 0;
	for (int i = 0; i < 6; i++)
		sum += sim::step(sim::all, &sim::all, i);
	std::_Exit(sum * 0);
}
