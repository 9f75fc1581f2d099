// A throw across three frames; tests name places by the comments with @.
#include <stdexcept>

static int caught;

static void deepest(int n)
{
	if (n > 0)
		throw std::runtime_error("deep"); // @throw
}

static void middle(int n)
{
	deepest(n + 1); // @middle
	caught = -1;
}

static void upper(int n)
{
	middle(n + 1); // @upper
	caught = -1;
}

int main()
{
	int before = 5;
	try {
		before += 1;
		upper(before); // @try
		before = 0;
	} catch (const std::exception &) {
		caught = before; // @catch
	}
	return caught - 6;
}
