#include <array>
#include <complex>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>
struct vec { double x, y, z; };
struct particle { int id; unsigned bits : 3; vec pos; std::array<float, 2> pair; double w[2][3]; std::vector<int> own; };
particle plain[5];
std::vector<particle> many;
std::deque<particle> queue;
std::list<particle> chain;
std::map<int, particle> by_key;
std::map<std::string, particle> by_name;
struct mine : std::vector<particle> {} derived;
std::vector<std::complex<double>> waves;
std::vector<particle> none;
std::set<char> letters = {'a', 'b', 'c'};
std::set<short> shorts = {1, 2, 3};
std::map<short, float> halves = {{1, 0.5f}, {3, 1.5f}};
int numbers[] = {1, 2, 3, 4};
std::span<int> view{numbers};
particle *p; int n;
static void look() { getppid(); }
static particle make(int i)
{
	particle one{};
	one.id = i; one.bits = i & 7;
	one.pos = {i + 0.25, i + 0.5, i + 0.75};
	one.pair = {(float)i, (float)-i};
	for (int j = 0; j < 2; j++) for (int k = 0; k < 3; k++) one.w[j][k] = 100 * i + 10 * j + k;
	return one;
}
int main()
{
	n = 400;
	p = new particle[n];
	for (int i = 0; i < n; i++) {
		p[i] = make(i);
		if (i < 5) plain[i] = p[i];
		many.push_back(p[i]); queue.push_back(p[i]); chain.push_back(p[i]); by_key[i] = p[i]; derived.push_back(p[i]);
		by_name[std::to_string(i) + (i % 2 ? "" : " a name that is longer than what lies in the object")] = p[i];
		waves.push_back({(double)i, -1.0 * i});
	}
	queue.pop_front(); queue.push_front(make(0));
	look();
	return 0;
}
