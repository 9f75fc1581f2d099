/* The locals of `mix` have values between events only; `=EXPRESSION` marks what makes it false. */
#include <unistd.h>

static volatile double total;

__attribute__((noinline)) static double mix(double x, int i)
{
    double y = x * i;
    if (i >= 41)
        y = -y; //=mix::y >= 0
    double z = y * y - x;
    if (i >= 52)
        z = total; //=mix::z <= 10000
    return y + z;
}

int main(void)
{
    for (int i = 1; i <= 60; i++) {
        total = 20000 + mix(1.5, i);
        getppid();
    }
    return 0;
}
