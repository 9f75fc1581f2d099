/* setsockopt(2): who replaces a table of packet filters is given the counters of its former entries. */
#include "../observe.h"
#include <linux/netfilter_ipv4/ip_tables.h>
#include <sched.h>
#include <sys/socket.h>

int main(void)
{
	struct ipt_getinfo info = {.name = "filter"};
	socklen_t length = sizeof info;

	if (unshare(CLONE_NEWNET))
		skip("no network namespaces");
	const int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	MUST(fd >= 0);
	if (getsockopt(fd, IPPROTO_IP, IPT_SO_GET_INFO, &info, &length))
		skip("no table of filters");
	printf("%u entries, %u bytes\n", info.num_entries, info.size);
	struct ipt_get_entries *entries = calloc(1, length = (socklen_t)(sizeof *entries + info.size));
	struct ipt_replace *table = calloc(1, sizeof *table + info.size);
	struct xt_counters *counters = malloc(info.num_entries * sizeof *counters);
	strcpy(entries->name, "filter");
	entries->size = info.size;
	SAY(getsockopt(fd, IPPROTO_IP, IPT_SO_GET_ENTRIES, entries, &length));
	strcpy(table->name, "filter");
	table->valid_hooks = info.valid_hooks;
	table->num_entries = table->num_counters = info.num_entries;
	table->size = info.size;
	memcpy(table->hook_entry, info.hook_entry, sizeof table->hook_entry);
	memcpy(table->underflow, info.underflow, sizeof table->underflow);
	table->counters = memset(counters, 0xff, info.num_entries * sizeof *counters);
	memcpy(table->entries, entries->entrytable, info.size);
	SAY(setsockopt(fd, IPPROTO_IP, IPT_SO_SET_REPLACE, table, (socklen_t)(sizeof *table + info.size)));
	for (unsigned i = 0; i < info.num_entries; i++)
		printf("%llu %llu\n", (unsigned long long)counters[i].pcnt, (unsigned long long)counters[i].bcnt);
	return 0;
}
