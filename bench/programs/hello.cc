// A small C++ program, for its start-up: libstdc++, iostreams, a container.
#include <iostream>
#include <map>
#include <string>

int main()
{
	std::map<std::string, int> words;
	for (const char *word : {"one", "two", "three", "two"})
		words[word]++;
	std::cout << words.size() << std::endl;
	return words.size() == 3 ? 0 : 1;
}
