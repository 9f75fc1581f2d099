/* Values in std::atomic, optional, tuple, pair, array and variant, at step 0 to 9. */
#include <array>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <variant>

struct State {
	std::atomic<int> step{-1};
	std::atomic<double> level{0};
	std::atomic<bool> late{false};
	std::optional<double> half;
	std::tuple<int, double, std::string> best{0, 0.0, "x"};
	std::pair<int, double> pair;
	std::array<int, 3> three{};
	std::variant<int, double> either;
};

static State state;
State *at = &state;

__attribute__((noinline)) static void advance(int i)
{
	state.step = i;
	state.level = 1.5 * i;
	state.late = i > 5;
	if (i > 3)
		state.half = 0.5 * i;
	std::get<0>(state.best) = i;
	std::get<2>(state.best) = "x" + std::to_string(i);
	state.pair.second = i;
	state.three[1] = i;
	if (i < 5)
		state.either = i;
	else
		state.either = 0.5;
}

__attribute__((noinline)) static void seen(const void *a, const void *b, const void *c)
{
	asm volatile("" : : "r"(a), "r"(b), "r"(c) : "memory");
}

static void locals()
{
	std::atomic<int> counter{0};
	std::atomic<bool> over{false};
	std::optional<int> maybe;

	for (volatile int i = 0; i < 10; i = i + 1) {
		counter = 2 * i;
		over = i > 6;
		if (i > 2)
			maybe = i;
		seen(&counter, &over, &maybe);
	}
}

int main()
{
	locals();
	for (int i = 0; i < 10; i++) {
		advance(i);
		getppid();
	}
	printf("%d %g %d\n", (int)state.step, *state.half, (int)at->late);
}
