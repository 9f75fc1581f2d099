/* MPI_Wtime returns the time since one moment in the past (MPI-4.0, 9.6).  After a restart the real library counts from
 * another moment, so its time is corrected. */
#include "lower/core/wtime.h"
#include "lower/objects/real.h"

static double ahead; /* added to the library's time */
static int64_t last; /* last value in the log or the checkpoint; 0: none */

static int64_t bits_of(double value)
{
	int64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double value_of(int64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

int64_t wtime_now(void)
{
	return bits_of(PMPI_Wtime() + ahead);
}

int64_t real_Wtime(const uint64_t *a __attribute__((unused)))
{
	return wtime_now();
}

int64_t real_Wtick(const uint64_t *a __attribute__((unused)))
{
	return bits_of(PMPI_Wtick());
}

void wtime_was(int64_t bits)
{
	last = bits;
}

int64_t wtime_last(void)
{
	return last;
}

void wtime_go_on(void)
{
	if (last)
		ahead = value_of(last) - PMPI_Wtime();
}
