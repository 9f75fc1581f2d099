// Smart pointers that an optimised program has in registers.
#include <cstdio>
#include <memory>
#include <optional>
#include <unistd.h>
#include <vector>

struct Cell {
    int id = 0;
    std::vector<double> values;
    std::optional<int> last;
    std::unique_ptr<Cell> next;
    std::shared_ptr<std::vector<int>> numbers;
};

struct Drop {
    Cell *other;
    void operator()(Cell *cell) const { delete cell; }
};

__attribute__((noinline)) void look(const Cell *one, const Cell *two, const double *three)
{
    std::printf("%d %d %g\n", one->id, two->id, *three);
}

__attribute__((noinline)) int run(int n)
{
    std::unique_ptr<Cell> own = std::make_unique<Cell>();
    std::shared_ptr<Cell> shared = std::make_shared<Cell>();
    std::unique_ptr<Cell> empty;
    std::unique_ptr<Cell, Drop> kept(new Cell, Drop{own.get()});
    std::unique_ptr<double[]> many(new double[n]);
    own->id = 4;
    kept->id = 6;
    own->values.assign(n, 2.5);
    own->values[3] = -1;
    own->last = 7;
    own->next = std::make_unique<Cell>();
    own->next->id = 9;
    own->next->values = {1, 2};
    own->numbers = std::make_shared<std::vector<int>>(5, 3);
    shared->id = 5;
    shared->values.assign(2 * n, 0.5);
    for (int i = 0; i < n; i++)
        many[i] = i;
    look(own.get(), shared.get(), many.get());
    empty = std::move(own->next);
    if (getppid() < 0)
        look(own.get(), kept.get(), many.get());
    return own->id + shared->id + (int)many[2];
}

int main(int argc, char **)
{
    return run(9 + argc) != 11;
}
