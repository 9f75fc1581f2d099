/* Computes for long, then falls over. */
volatile unsigned long turns;

int main(void)
{
	int *volatile nowhere = 0;

	for (turns = 0; turns < 1500000000; turns++)
		;
	return *nowhere;
}
