#include "main/cpu_check.h"
#include "base/cpu_features.h"
#include "base/lower.h"
#include "log/meta.h"

int cpu_check_recording(const char *dir)
{
	char then[CPU_TEXT], why[CPU_WHY];
	const int suits = meta_find(dir, "\"cpu\":", then, sizeof(then)) ? cpu_suits(then, why) : 0;
	if (suits)
		rdb_warn("%s: %s", dir, why);
	return suits < 0 ? suits : 0;
}
