/* tmpfile(3): mkostemp(3), nftw(3), glob(3): the C library's own ways over files. */
#include "../observe.h"
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>

static int files, folders, links, deepest;

static int visit(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)path, (void)status;
	files += kind == FTW_F;
	folders += kind == FTW_DP;
	links += kind == FTW_SL;
	deepest = place->level > deepest ? place->level : deepest;
	return 0;
}

static int clear(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status, (void)kind;
	return place->level ? remove(path) : 0;
}

int main(void)
{
	char name[] = "made-XXXXXX.txt", folder[] = "dir-XXXXXX", text[16] = "";
	struct stat s;
	glob_t found;
	FILE *file = tmpfile();

	MUST(file && fputs("temporary", file) >= 0);
	rewind(file);
	MUST(fgets(text, sizeof text, file));
	puts(text);
	MUST(!fstat(fileno(file), &s));
	printf("%lu %o\n", (unsigned long)s.st_nlink, s.st_mode & 0777);
	int fd = mkostemps(name, 4, O_CLOEXEC);
	MUST(fd >= 0 && !fstat(fd, &s));
	printf("%o %d %zu\n", s.st_mode & 0777, fcntl(fd, F_GETFD), strlen(name));
	MUST(mkdtemp(folder) && !stat(folder, &s));
	printf("%o\n", s.st_mode & 0777);
	MUST(!chdir(folder) && !mkdir("a", 0700) && !mkdir("a/b", 0700) && !symlink("b", "a/link"));
	for (char path[] = "a/b/x"; path[4] < 'z' + 1; path[4]++)
		MUST(!close(open(path, O_CREAT | O_WRONLY, 0600)));
	SAY(nftw(".", visit, 3, FTW_DEPTH | FTW_PHYS));
	printf("%d files, %d folders, %d links, depth %d\n", files, folders, links, deepest);
	SAY(glob("*/b/[xz]", 0, NULL, &found));
	printf("%zu %s %s\n", found.gl_pathc, found.gl_pathv[0], found.gl_pathv[1]);
	SAY(glob("none*", 0, NULL, &found) == GLOB_NOMATCH);
	SAY(nftw(".", clear, 3, FTW_DEPTH | FTW_PHYS));
	SAY(rmdir("../absent"));
	SAY(access("a", F_OK));
	return 0;
}
