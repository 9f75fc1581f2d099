/* Loads a library late: a breakpoint in it is set before it is there. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = (double (*)(double))dlsym(library, "cbrt");
	double x = 0;

	for (int k = 0; k < 10; k++)
		x += cosine(k);
	printf("%p %f\n", (void *)cosine, x);
	return x > 100;
}
