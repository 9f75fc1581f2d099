/* proc_pid_statm(5), proc_pid_status(5), proc_pid_stat(5): how much the program has mapped, in each of them the same. */
#include "../observe.h"
#include <sys/mman.h>

struct seen {
	long size, data;      /* statm, in pages */
	long vm_size, vm_data; /* status, in kB */
	long vsize;           /* stat, in bytes */
};

static void look(struct seen *to)
{
	char line[512];
	FILE *file = fopen("/proc/self/statm", "r");

	MUST(file && fscanf(file, "%ld %*d %*d %*d %*d %ld", &to->size, &to->data) == 2);
	fclose(file);
	MUST((file = fopen("/proc/self/status", "r")));
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "VmSize: %ld", &to->vm_size);
		sscanf(line, "VmData: %ld", &to->vm_data);
	}
	fclose(file);
	MUST((file = fopen("/proc/self/stat", "r")) && fgets(line, sizeof(line), file));
	MUST(sscanf(strrchr(line, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
					"%*d %*d %ld",
		    &to->vsize) == 1);
	fclose(file);
}

static void changed(const char *what, const struct seen *a, const struct seen *b)
{
	printf("%s: %ld %ld %ld %ld %ld\n", what, b->size - a->size, b->data - a->data, b->vm_size - a->vm_size,
	       b->vm_data - a->vm_data, b->vsize - a->vsize);
}

int main(void)
{
	struct seen seen[5];

	look(&seen[0]); /* the streams' memory */
	look(&seen[0]);
	void *one = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	look(&seen[1]);
	void *two = mmap(NULL, 1 << 22, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	look(&seen[2]);
	MUST(one != MAP_FAILED && two != MAP_FAILED && !mprotect(one, 1 << 19, PROT_NONE));
	look(&seen[3]);
	MUST(!munmap(one, 1 << 20) && !munmap(two, 1 << 22));
	look(&seen[4]);
	changed("private", &seen[0], &seen[1]);
	changed("shared", &seen[1], &seen[2]);
	changed("closed", &seen[2], &seen[3]);
	changed("gone", &seen[3], &seen[4]);
	printf("%d\n", seen[0].size * 4096 == seen[0].vsize && seen[0].vm_size * 1024 == seen[0].vsize);
	printf("a small program: %d\n", seen[0].vsize < 16 << 20);
	return 0;
}
