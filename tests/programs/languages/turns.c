/* `//=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `//0N` is of a variable that
 * optimisation may leave out. */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

struct state {
    double w[4];
    int steps;
    bool fine;
    double complex z;
};

static volatile long level;
static volatile struct state state = {{1, 1, 1, 1}, 0, true, 1};
static volatile struct {
    struct state first;
} nest;
volatile struct state *volatile grid = &state;

__attribute__((noinline)) static double work(int steps)
{
    double s = 1;
    bool ok = true;
    static volatile int calls;
    for (int i = 1; i <= steps; i++) {
        s += 0.5;
        if (i == 30)
            s = NAN; //030 s == s
        ok = s == s; //030 ok
        level = i; //=40 level < 40
        calls = i; //020 work::calls < 20
        if (i == 25)
            grid->w[2] = -1; //=25 grid->w[2] > 0
        if (i == 26)
            state.fine = false; //=26 state.fine
        if (i == 27)
            state.z = I; //=27 creal(state.z) > 0
        if (i == 28)
            state.steps = 9; //=28 sizeof(level) * state.steps < 9
        if (i == 29)
            nest.first.steps = 1; //=29 nest.first.steps == 0
        syscall(SYS_getppid);
    }
    return ok ? s : 0;
}

int main(void)
{
    return work(60) > 1;
}
