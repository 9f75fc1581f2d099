#include "restart/copies/file_numbers.h"
#include <linux/stat.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include "base/user.h"
#include "restart/base/open_table.h"

static struct numbered {
	uint64_t dev, ino;             /* of the kernel */
	uint64_t known_dev, known_ino; /* of the program */
} file[OPENED];
static unsigned nfiles;

void file_numbers_add(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;
	if (!ino || fstat(fd, &st) || (st.st_dev == dev && st.st_ino == ino))
		return;
	for (const struct numbered *f = file; f < file + nfiles; f++)
		if ((f->dev == st.st_dev && f->ino == st.st_ino) || (f->known_dev == dev && f->known_ino == ino))
			return;
	if (nfiles < OPENED)
		file[nfiles++] = (struct numbered){st.st_dev, st.st_ino, dev, ino};
}

/* Another file that has such numbers now is shown with those that nobody has, so that no two are taken for one. */
void file_numbers_known(uint64_t *dev, uint64_t *ino)
{
	for (const struct numbered *f = file; f < file + nfiles; f++) {
		if (f->dev == *dev && f->ino == *ino) {
			*dev = f->known_dev;
			*ino = f->known_ino;
			return;
		}
		if (f->known_dev == *dev && f->known_ino == *ino) {
			*dev = f->dev;
			*ino = f->ino;
			return;
		}
	}
}

static void in_stat(uint64_t at)
{
	uint64_t dev, ino;
	if (user_read(&dev, at + offsetof(struct stat, st_dev), sizeof(dev)) ||
	    user_read(&ino, at + offsetof(struct stat, st_ino), sizeof(ino)))
		return;
	file_numbers_known(&dev, &ino);
	user_write(at + offsetof(struct stat, st_dev), &dev, sizeof(dev));
	user_write(at + offsetof(struct stat, st_ino), &ino, sizeof(ino));
}

static void in_statx(uint64_t at)
{
	struct statx x;
	if (user_read(&x, at, sizeof(x)))
		return;
	uint64_t dev = makedev(x.stx_dev_major, x.stx_dev_minor), ino = x.stx_ino;
	file_numbers_known(&dev, &ino);
	x.stx_dev_major = major(dev);
	x.stx_dev_minor = minor(dev);
	x.stx_ino = ino;
	user_write(at, &x, sizeof(x));
}

void file_numbers_out(uint64_t nr, const uint64_t args[6], int64_t result)
{
	if (!nfiles || result)
		return;
	switch (nr) {
	case SYS_stat:
	case SYS_lstat:
	case SYS_fstat: in_stat(args[1]); break;
	case SYS_newfstatat: in_stat(args[2]); break;
	case SYS_statx: in_statx(args[4]); break;
	}
}
