/* MPI_Comm_spawn: the new processes are ranks of the same job, recorded with the same options.
 *
 * The command is run by rdb-exec, with our options except for the directory.  Each new process derives its directory
 * from that of the job and its rank in its own MPI_COMM_WORLD (--spawned: the number of the first rank, reserved here).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/private.h"
#include "lower/objects/worlds.h"

struct wrapping {
	char exe[PATH_MAX];
	const char *const *options;
	unsigned count;
	char job[PATH_MAX], first[16];
	bool off; /* nothing is recorded */
};

static void read_options(struct wrapping *wrap)
{
	wrap->options = host->spawn_options(&wrap->count);
	for (unsigned i = 0; i + 1 < wrap->count; i++) {
		if (!strcmp(wrap->options[i], "--files"))
			snprintf(wrap->job, sizeof(wrap->job), "%s", wrap->options[i + 1]);
		if (!strcmp(wrap->options[i], "--record"))
			wrap->off = !strcmp(wrap->options[i + 1], "off");
	}
}

static int first_free(const char *job)
{
	DIR *dir = opendir(job);
	struct dirent *entry;
	int next = 0, number;

	while (dir && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "rank-%d", &number) == 1 && number >= next)
			next = number + 1;
	}
	if (dir)
		closedir(dir);
	return next;
}

/* Makes the directories of `count` consecutive ranks; returns the number of the first. */
static int reserve(const char *job, int count)
{
	char path[PATH_MAX + 32];

	for (int first = first_free(job);; first++) {
		int made = 0, rc = 0;

		while (made < count) {
			snprintf(path, sizeof(path), "%s/rank-%d", job, first + made);
			rc = private_mkdir_new(path);
			if (rc)
				break;
			made++;
		}
		if (made == count)
			return first;
		if (rc != -EEXIST)
			host->fatal("MPI_Comm_spawn: %s: %s", path, strerror(-rc));
		while (made--) {
			snprintf(path, sizeof(path), "%s/rank-%d", job, first + made);
			rmdir(path);
		}
	}
}

static void wrap_begin(struct wrapping *wrap, int processes)
{
	ssize_t n = readlink("/proc/self/exe", wrap->exe, sizeof(wrap->exe) - 1);
	char *end;

	if (n < 0)
		host->fatal("MPI_Comm_spawn: /proc/self/exe: %s", strerror(errno));
	wrap->exe[n] = 0;
	read_options(wrap);
	end = strrchr(wrap->job, '/');
	if (end)
		*end = 0;
	if (!wrap->off)
		snprintf(wrap->first, sizeof(wrap->first), "%d", reserve(wrap->job, processes));
}

static void give_back(const struct wrapping *wrap, int processes)
{
	char path[PATH_MAX + 32];

	for (int i = 0; i < processes && !wrap->off && wrap->first[0]; i++) {
		snprintf(path, sizeof(path), "%s/rank-%d", wrap->job, atoi(wrap->first) + i);
		rmdir(path); /* fails if a process has written to it */
	}
}

/* Arguments of rdb-exec for command `number`.  The caller frees the returned block; the strings are not copied. */
static char **wrap_arguments(struct wrapping *wrap, int number, const char *command, char *const *argv, MPI_Info info)
{
	static char dir[] = "--dir", spawned[] = "--spawned", appnum[] = "--appnum", path[] = "--path", end[] = "--";
	static char root[] = "/";
	unsigned n = 0, given = 0;
	char **list, *text;
	int found = 0;

	while (argv && argv[given])
		given++;
	list = needed(calloc(1, (wrap->count + given + 12) * sizeof(*list) + 16 + MPI_MAX_INFO_VAL + 1));
	for (unsigned i = 0; i < wrap->count; i++)
		list[n++] = (char *)wrap->options[i];
	list[n++] = dir;
	list[n++] = wrap->off ? root : wrap->job;
	text = (char *)(list + wrap->count + given + 12);
	if (!wrap->off) {
		list[n++] = spawned;
		list[n++] = wrap->first;
		list[n++] = appnum;
		list[n++] = text;
		snprintf(text, 16, "%d", number);
	}
	/* MPI-4.0, 11.8.4; the MPI below looks for rdb-exec only */
	if (info != MPI_INFO_NULL)
		PMPI_Info_get(info, "path", MPI_MAX_INFO_VAL, text + 16, &found);
	if (found) {
		list[n++] = path;
		list[n++] = text + 16;
	}
	list[n++] = end;
	list[n++] = (char *)command;
	for (unsigned i = 0; i < given; i++)
		list[n++] = argv[i];
	return list;
}

static int spawned(int rc, const int *codes, int count, void *upper_codes, void **upper_comm, MPI_Comm real,
		   const char *by)
{
	if (rc == MPI_SUCCESS) {
		worlds_met(real);
		put_handle(upper_comm, RDB_COMM, comm_new(real, by)->o.id);
	}
	if (count > 0)
		put(upper_codes, codes, count * sizeof(int));
	return rc;
}

static int *codes_new(int count)
{
	int *codes = needed(calloc(count > 0 ? count : 1, sizeof(int)));

	return codes;
}

/* command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes: the first four are significant at the root
 * only */
int64_t real_Comm_spawn(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[5]);
	bool root = comm->o.real && (int)a[4] == comm->rank;
	int count = root ? (int)a[2] : 0;
	int *codes = codes_new((int)a[2]);
	struct wrapping wrap = {0};
	MPI_Info info = root ? REAL(MPI_Info, info_of(a[3])->real) : MPI_INFO_NULL;
	MPI_Comm real = MPI_COMM_NULL;
	char **argv = NULL;
	int rc;

	if (root && count > 0) {
		wrap_begin(&wrap, count);
		argv = wrap_arguments(&wrap, 0, (char *)a[0], (char **)a[1], info);
	}
	rc = BLOCKING(PMPI_Comm_spawn(wrap.exe, argv, (int)a[2], info, (int)a[4], comm->o.real, &real, codes));
	if (rc != MPI_SUCCESS)
		give_back(&wrap, count);
	rc = spawned(rc, codes, (int)a[2], (void *)a[7], (void **)a[6], real, "MPI_Comm_spawn");
	free(argv);
	free(codes);
	return rc;
}

/* count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info, root, comm, intercomm, array_of_errcodes */
int64_t real_Comm_spawn_multiple(const uint64_t *a)
{
	struct vcomm *comm = comm_of(a[6]);
	bool root = comm->o.real && (int)a[5] == comm->rank;
	int count = root ? (int)a[0] : 0, processes = 0;
	const int *maxprocs = (const int *)a[3];
	char *const *commands = (char *const *)a[1], **wrapped = needed(calloc(count + 1, sizeof(char *)));
	char **const *argvs = (char **const *)a[2], ***arguments = needed(calloc(count + 1, sizeof(char **)));
	struct wrapping wrap = {0};
	MPI_Comm real = MPI_COMM_NULL;
	MPI_Info *infos;
	uint32_t *ids = handles_in(RDB_INFO, (void *const *)a[4], count, (void ***)&infos);
	int *codes, rc;

	for (int i = 0; i < count; i++)
		processes += maxprocs[i];
	if (processes > 0)
		wrap_begin(&wrap, processes);
	for (int i = 0; i < count; i++) {
		wrapped[i] = wrap.exe;
		arguments[i] = wrap_arguments(&wrap, i, commands[i], argvs ? argvs[i] : NULL, infos[i]);
	}
	codes = codes_new(processes);
	rc = BLOCKING(PMPI_Comm_spawn_multiple(count, wrapped, arguments, maxprocs, infos, (int)a[5], comm->o.real,
					       &real, root ? codes : MPI_ERRCODES_IGNORE));
	if (rc != MPI_SUCCESS)
		give_back(&wrap, processes);
	rc = spawned(rc, codes, processes, (void *)a[8], (void **)a[7], real, "MPI_Comm_spawn_multiple");
	for (int i = 0; i < count; i++)
		free(arguments[i]);
	free(arguments);
	free(wrapped);
	free(ids);
	free(codes);
	return rc;
}

/* parent: the same handle each time, until it is freed */
int64_t real_Comm_get_parent(const uint64_t *a)
{
	MPI_Comm real = MPI_COMM_NULL;
	int rc = PMPI_Comm_get_parent(a[0] ? &real : NULL);

	if (rc == MPI_SUCCESS)
		put_handle((void **)a[0], RDB_COMM, worlds_parent());
	return rc;
}
