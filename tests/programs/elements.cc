/* Each element is made of its own indices: what a debugger calls it can be checked by its value. */
#include <array>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

struct base {
	int kind;
};

struct cell : base {
	double w[2][3];
	std::vector<int> many;
};

int plane[2][3];
std::vector<std::array<int, 2>> rows;
std::deque<int> queue;
std::list<int> chain;
std::map<std::string, int> by_name;
std::vector<bool> flags;
cell cells[2];

static void look()
{
	getppid(); /* @look */
}

int main()
{
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 3; j++) {
			plane[i][j] = 10 * i + j;
			cells[i].w[i][j] = cells[i].w[1 - i][j] = 0;
		}
		rows.push_back({10 * i, 10 * i + 1});
		queue.push_back(i);
		chain.push_back(i);
		flags.push_back(i != 0);
		cells[i].kind = i;
		cells[i].many = {100 * i, 100 * i + 1};
	}
	by_name = {{"one", 1}, {"two", 2}};
	look();
	return 0;
}
