#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "restart/base/cut.h"
#include "restart/copies/given_files.h"
#include "restart/copies/later_plan.h"
#include "restart/copies/own_files.h"
#include "restart/copies/written_copies.h"
#include "base/descriptors.h"

/* Several processes had it open, and the plan has made the content of then: they all go on with that. */
static void planned(const char *path, const char *place, bool appended)
{
	char before[LONGEST];
	own_add(path, place);
	for (struct opened *f = open_table.opened; f < open_table.opened + OPENED; f++) {
		if (f->kind != FILE_WRITTEN || strcmp(f->path, path) || lower.opt.in_place)
			continue;
		copy_where(f->copy, before);
		lower_fd_close(f->copy);
		f->copy = lower_fd(descriptor_open(AT_FDCWD, place, O_RDWR, 0));
		if (f->copy < 0)
			live_refuse("%s: %s", place, strerror(-f->copy));
		if (!appended) {
			unlink(before);
			continue;
		}
		f->offset = copy_end(f);
		f->shared = 0; /* each process appends by itself */
		f->made = 0;
		f->several = false;
		*f->why = 0;
	}
}

/* Places of the plan.  "/...": the branch's own file is there.  "!/...": the same, and processes that had the file open
 * have this one open; "*": each goes on there at its own offset.  "@": in place, all files have been
 * rolled back.  "": the real file is all ranks'.  "+/...": the rank that has it open, or had left it, puts it
 * there. */
void later_files_load(void)
{
	char place[LONGEST], full[LONGEST];
	for (const char *line = later_lines(); later_line(&line, place, full);) {
		lower.opt.rolled_back |= *place == '@';
		if (*place == '@' || *place == '=' || (*place == '+' && !given_here()))
			continue;
		if (*place == '+') {
			own_given(full, place + 1);
			continue;
		}
		own_forget(full);
		if (*place == '!' || *place == '*')
			planned(full, place + 1, *place == '!');
		else if (*place)
			own_add(full, place);
	}
}
