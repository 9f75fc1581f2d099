// A text that optimization keeps nowhere.
#include <unistd.h>

int main(void)
{
	char phase[8] = "factor";

	for (int i = 0; i < 3; i++)
		getppid(); // here
	phase[0] = 'd';
	return 0;
}
