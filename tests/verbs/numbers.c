/* numbers FOLDER RANKS RANK [KIND SHOWN LOWER]... : a rank of a restart, which has made these numbers again.  Says for
 * each line KIND NUMBER of its input whether a new object may have that number, and what another rank's rkey is. */
#include <stdio.h>
#include <stdlib.h>
#include "verbs/lower/numbers.h"

int main(int argc, char **argv)
{
	int ranks[16], n = atoi(argv[2]), rank = atoi(argv[3]), kind;
	unsigned number;

	for (int i = 0; i < n; i++)
		ranks[i] = i;
	for (int i = 4; i + 2 < argc; i += 3)
		number_bind((enum number_kind)atoi(argv[i]), (uint32_t)strtoul(argv[i + 1], NULL, 0),
			    (uint32_t)strtoul(argv[i + 2], NULL, 0));
	const char *wrong = numbers_exchange(argv[1], rank, ranks, (unsigned)n);
	if (wrong) {
		fprintf(stderr, "%s\n", wrong);
		return 1;
	}
	while (scanf("%d %u", &kind, &number) == 2)
		printf("%d %u\n", number_free((enum number_kind)kind, number), number_rkey_of(NUMBERS_NO_RANK, number));
	return 0;
}
