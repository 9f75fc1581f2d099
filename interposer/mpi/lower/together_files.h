/* Files of MPI at a checkpoint that all ranks take together. */
#ifndef RDB_MPI_TOGETHER_FILES_H
#define RDB_MPI_TOGETHER_FILES_H
#include "files.h"
#include "together_bytes.h"

/* together_files.c: one that was opened, or is made again; one that is closed. */
void together_file(struct vfile *file, const struct vcomm *comm);
void together_file_closed(struct vfile *file);
/* A call of the program: collectives of files are counted as those of the communicator that opened it. */
void files_called(unsigned index, const uint64_t *a);
/* None is between the two calls of a split collective. */
bool files_quiet(void);
const char *files_refuse(void);
/* In the order in which they were opened, which is the same in all ranks. */
struct vfile *file_after(const struct vfile *file);

/* together_files_state.c: modes as programs of any MPI have them, without those that make a file; a view; and pointers. */
int64_t file_mode_out(int amode);
int file_mode_in(int64_t out);
void file_put_view(struct bytes *out, MPI_File real);
void file_see_again(struct bytes *in, MPI_File real, int64_t own, int64_t shared, int64_t atomic);
/* The object of one that is open again in the ranks of COMM; TURNED: its shared pointer has been used. */
struct vfile *file_again(uint32_t id, MPI_File real, const char *path, int amode, bool turned, MPI_Comm comm);
/* In all ranks; what is in files that they write to is kept. */
void put_files(struct bytes *out);
void get_files(struct bytes *in);

#endif
