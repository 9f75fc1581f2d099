/* `//= EXPRESSION` marks the statement that first makes it false; `//0` only without optimisation. */
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
volatile struct state *volatile grid = &state;

__attribute__((noinline)) static double work(int steps)
{
    double s = 1;
    bool ok = true;
    static volatile int calls;
    for (int i = 1; i <= steps; i++) {
        s += 0.5;
        if (i == 30)
            s = NAN; //0 s == s
        ok = s == s; //0 ok
        level = i; //= level < 40
        calls = i; //0 work::calls < 20
        if (i == 25)
            grid->w[2] = -1; //= grid->w[2] > 0
        if (i == 26)
            state.fine = false; //= state.fine
        if (i == 28)
            state.steps = 9; //= sizeof(level) * state.steps < 9
        syscall(SYS_getppid);
    }
    return ok ? s : 0;
}

int main(void)
{
    return work(60) > 1;
}
