/* MPI files at a coordinated checkpoint. */
#pragma once
#include "lower/files/files.h"
#include "lower/checkpoint/coordinated_state.h"

/* coordinated_files.c: a file was opened (also by a restart); a file is being closed. */
void coordinated_file(struct vfile *file, const struct vcomm *comm);
void coordinated_file_closed(struct vfile *file);
/* Before a call of the program: counts collectives on files. */
void files_called(unsigned index, const uint64_t *a);
/* No file is between the two calls of a split collective. */
bool files_quiet(void);
/* Why the open files prevent a checkpoint; NULL: they do not. */
const char *files_refuse(void);
/* The file opened next after `file` (NULL: the first); the order of opening is the same in all ranks. */
struct vfile *file_after(const struct vfile *file);

/* coordinated_files_state.c: access modes in a form that is the same for each MPI. */
int64_t file_mode_out(int amode);
int file_mode_in(int64_t out);
/* MPI_File_open of a file that exists already, whichever mode has made it.  Views and file pointers. */
int file_opened_again(MPI_Comm comm, const char *path, int amode, MPI_Info info, MPI_File *real);
void file_put_view(struct bytes *out, MPI_File real);
void file_see_again(struct bytes *in, MPI_File real, int64_t own, int64_t shared, int64_t atomic);
/* Makes the object of a file that was opened again by the ranks of `comm`; turned: its shared pointer has been used. */
struct vfile *file_again(uint32_t id, MPI_File real, const char *path, int amode, bool turned, MPI_Comm comm);
/* Called in all ranks.  put_files() also copies the files that the program writes to. */
void put_files(struct bytes *out);
void get_files(struct bytes *in);
