/* Containers whose elements lie apart, each with the numbers from 0 on. */
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>

struct containers {
	std::deque<double> deque, turned, drained;
	std::list<short> list;
	std::forward_list<long> forward;
	std::set<int> set;
	std::multiset<float> multiset;
	std::map<int, double> map;
	std::multimap<std::string, unsigned short> multimap;
	std::unordered_set<unsigned long> uset;
	std::unordered_multiset<int> umultiset;
	std::unordered_map<int, float> umap;
	std::unordered_multimap<std::string, long double> umultimap;
	std::queue<int> queue;
	std::stack<double> stack;

	explicit containers(int count)
	{
		for (int i = 0; i < count + 100; i++)
			drained.push_back(i - 100);
		for (int i = 0; i < 100; i++)
			drained.pop_front();
		for (int i = 0; i < count; i++) {
			deque.push_back(i);
			turned.push_front(count - 1 - i);
			list.push_back((short)i);
			forward.push_front(i);
			set.insert((i * 7919) % count);
			multiset.insert((float)i);
			map[(i * 7919) % count] = (i * 7919) % count;
			multimap.emplace(std::to_string(i), (unsigned short)i);
			uset.insert((unsigned long)i);
			umultiset.insert(i);
			umap[i] = (float)i;
			umultimap.emplace(std::to_string(i), i);
			queue.push(i);
			stack.push(i);
		}
	}
};

containers all_0(0), all_1(1), all_7(7), all_5000(5000);
std::list<std::string> words = {"a", "b"};

static void look()
{
	getppid();
}

int main()
{
	look();
	return 0;
}
