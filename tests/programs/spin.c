/* A long way between two events. */
#include <unistd.h>
volatile unsigned long turns;
int main(void)
{
	getppid();
	for (unsigned long i = 0; i < 300000000ul; i++)
		turns = turns + i;
	getppid();
	return 0;
}
