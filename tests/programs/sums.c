/* Sums that grow, each written; an exit code of its own. */
#include <unistd.h>

int total;

int main(void)
{
	for (int i = 0; i < 5; i++) {
		char text[2] = {(char)('a' + total), '\n'};

		total += i;
		if (write(2, text, sizeof(text)) != sizeof(text))
			return 1;
	}
	return 3;
}
