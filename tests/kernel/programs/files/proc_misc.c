/* proc(5): small files about the process: oom_score_adj, personality, statm, io, schedstat, coredump_filter, wchan. */
#include "../observe.h"
#include <fcntl.h>
#include <sys/personality.h>

static void show(const char *name)
{
	char path[64], text[128] = "";

	snprintf(path, sizeof path, "/proc/self/%s", name);
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		snprintf(text, sizeof text, "%s\n", strerrorname_np(errno));
	close(fd);
	printf("%s: %s", name, text);
}

static void set(const char *name, const char *value)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/%s", name);
	int fd = open(path, O_WRONLY);
	long n = fd < 0 ? -1 : write(fd, value, strlen(value));
	printf("%s: %s\n", name, n < 0 ? strerrorname_np(errno) : "set");
	close(fd);
}

static int fields(const char *name)
{
	char path[64], word[256];
	int n = 0;

	snprintf(path, sizeof path, "/proc/self/%s", name);
	FILE *file = fopen(path, "r");
	while (file && fscanf(file, "%255s", word) == 1)
		n++;
	if (file)
		fclose(file);
	return n;
}

int main(void)
{
	set("oom_score_adj", "300");
	show("oom_score_adj");
	set("oom_score_adj", "2000");
	set("coredump_filter", "0x7");
	show("coredump_filter");
	show("timerslack_ns");
	SAY(fields("statm"));
	SAY(fields("schedstat"));
	SAY(fields("uid_map"));
	show("setgroups");
	show("loginuid");
	show("absent");
	set("status", "x");
	set("limits", "x");
	SAY(access("/proc/self/net/tcp", R_OK));
	SAY(access("/proc/self/ns/mnt", R_OK));
	SAY(open("/proc/self/fd", O_WRONLY));
	return 0;
}
