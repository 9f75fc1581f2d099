/* Going live again: a replay calls here beside the log's answers, so that the real MPI has, at the cut, what the
 * program made: the same objects under the same handles, its pending requests, and the messages that were
 * under way.  What the log has answered is not done again: no message that was received, no collective. */
#include <stdio.h>
#include "restart.h"

static const struct {
	enum kind kind;
	const char *names;
} lists[] = {
	{QUIET,
	 " Query_thread Is_thread_main Get_library_version Get_processor_name Error_string Error_class Comm_rank"
	 " Comm_size Comm_remote_size Comm_test_inter Comm_compare Comm_get_name Comm_get_attr Group_size Group_rank"
	 " Group_translate_ranks Group_compare Get_count Get_elements Get_elements_x Test_cancelled"
	 " Status_set_elements Status_set_elements_x Status_set_cancelled Type_size Type_size_x Type_get_extent"
	 " Type_get_extent_x Type_get_true_extent Type_get_true_extent_x Type_get_envelope Type_get_name Pack_size"
	 " Pack_external_size Op_commutative Cart_get Cart_rank Cart_coords Cart_shift Cart_map Cartdim_get"
	 " Dims_create Topo_test Graph_get Graph_map Graph_neighbors Graph_neighbors_count Graphdims_get"
	 " Info_get_nkeys Info_get_valuelen Info_get Info_get_nthkey Pack Pack_external Unpack Unpack_external"
	 " Wtime Wtick Recv Probe Iprobe Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv"
	 " Alltoall Alltoallv Alltoallw Reduce Allreduce Scan Exscan Reduce_scatter Reduce_scatter_block"
	 " Reduce_local Neighbor_allgather"
	 " Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw"
	 " Dist_graph_neighbors Dist_graph_neighbors_count"
	 " File_delete File_set_size File_preallocate File_get_size File_get_amode File_set_info File_set_view"
	 " File_seek File_get_position File_get_byte_offset File_seek_shared File_get_position_shared"
	 " File_get_type_extent File_set_atomicity File_get_atomicity File_sync"
	 " File_read File_read_all File_read_shared File_read_ordered File_read_at File_read_at_all"
	 " File_write File_write_all File_write_shared File_write_ordered File_write_at File_write_at_all"
	 " File_read_all_begin File_read_ordered_begin File_read_at_all_begin File_read_all_end File_read_ordered_end"
	 " File_read_at_all_end File_write_all_begin File_write_ordered_begin File_write_at_all_begin"
	 " File_write_all_end File_write_ordered_end File_write_at_all_end "},
	{MAKES,
	 " Init Init_thread Comm_dup Comm_dup_with_info Comm_split Comm_split_type Comm_create Comm_create_group"
	 " Intercomm_create Intercomm_merge Cart_create Cart_sub Graph_create Dist_graph_create"
	 " Dist_graph_create_adjacent Comm_free Comm_disconnect Comm_group"
	 " Comm_remote_group Comm_get_info Comm_set_info Comm_set_name Comm_get_parent Group_incl Group_excl"
	 " Group_range_incl Group_range_excl Group_union Group_intersection Group_difference Group_free"
	 " Type_contiguous Type_vector Type_create_hvector Type_indexed Type_create_hindexed"
	 " Type_create_indexed_block Type_create_hindexed_block Type_create_struct Type_create_resized"
	 " Type_create_subarray Type_create_darray Type_create_f90_integer Type_create_f90_real"
	 " Type_create_f90_complex Type_match_size Type_dup Type_commit Type_free Type_set_name"
	 " Type_get_contents Op_create Op_free Info_create Info_dup Info_set Info_delete Info_free"
	 " Win_create Win_create_dynamic Win_free Win_attach Win_detach Win_set_name Win_set_info"
	 " Win_get_info Win_get_group Buffer_attach Buffer_detach Add_error_class Add_error_code Add_error_string "},
	{MAKES_LATER, " Win_allocate "},
	{WINDOWS,
	 " Win_fence Win_lock Win_unlock Win_lock_all Win_unlock_all Win_start Win_post Win_complete Win_wait Win_test"
	 " Win_flush Win_flush_local Win_flush_all Win_flush_local_all Win_sync Win_get_name Put Get Accumulate"
	 " Get_accumulate Fetch_and_op Compare_and_swap "},
	{POSTS_DONE, " Rput Rget Raccumulate Rget_accumulate"
		     " File_iread File_iread_all File_iread_shared File_iread_at File_iread_at_all"
		     " File_iwrite File_iwrite_all File_iwrite_shared File_iwrite_at File_iwrite_at_all "},
	{OPENS, " File_open "},
	{CLOSES, " File_close "},
	{SENDS, " Send Ssend Rsend Bsend "},
	{EXCHANGES, " Sendrecv Sendrecv_replace "},
	{POSTS_SEND, " Isend Issend Irsend Ibsend "},
	{POSTS_RECEIVE, " Irecv "},
	{POSTS_MATCHED, " Imrecv "},
	{POSTS_COLLECTIVE,
	 " Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw"
	 " Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Ineighbor_allgather"
	 " Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw "},
	{POSTS_COPY, " Comm_idup "},
	{PERSISTENT, " Recv_init Send_init Ssend_init Rsend_init Bsend_init "},
	{STARTS, " Start Startall "},
	{CANCELS, " Cancel "},
	{LOOKS, " Request_get_status "},
	{FREES, " Request_free "},
	{ONE, " Wait Test "},
	{MANY, " Waitall Waitany Waitsome Testall Testany Testsome "},
	{MATCHES, " Mprobe Improbe "},
	{TAKES, " Mrecv "},
};

static char why[256];

enum kind restart_kind(const char *name)
{
	char word[128];

	snprintf(word, sizeof(word), " %s ", strncmp(name, "MPI_", 4) ? name : name + 4);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strstr(lists[i].names, word))
			return lists[i].kind;
	}
	return UNKNOWN;
}

const char *restart_refuse(const char *name, const char *what)
{
	snprintf(why, sizeof(why), "%s%s%s", name, *name ? ": " : "", what);
	return why;
}

extern struct rdb_plugin rdb_plugin;
enum { UNDEFINED = -32766 }; /* MPI_UNDEFINED of the canonical ABI */

/* What one MPI has another may lack. */
static const char *failed_here(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "it succeeded in the recording and fails over %s; try another --mpi",
		 rdb_plugin.name);
	return text;
}

int64_t restart_call(unsigned index, uint32_t nargs, const uint64_t *a)
{
#ifdef OPEN_MPI
	(void)nargs;
	return real_functions[index].call(a);
#else
	return translated_call(index, real_functions[index].call, nargs, a);
#endif
}

static void silent_out(void *upper __attribute__((unused)), size_t len __attribute__((unused))) {}

static void silent_note(enum rdb_note what __attribute__((unused)), const void *data __attribute__((unused)),
			size_t len __attribute__((unused)))
{
}

int64_t restart_silent_call(unsigned index, uint32_t nargs, const uint64_t *a)
{
	static struct rdb_host silent;
	const struct rdb_host *known = host;
	int64_t result;

	silent = *known;
	silent.out = silent_out;
	silent.payload = silent_out;
	silent.note = silent_note;
	host = &silent;
	result = restart_call(index, nargs, a);
	host = known;
	return result;
}

static bool of_windows(const char *name)
{
	return strstr(name, "Win_") != NULL;
}

/* Is it made, or freed, again on the way? */
static bool makes(enum kind kind, const uint64_t *a)
{
	if (kind == FREES)
		return a[0] && request_at((void **)a[0])->persistent;
	return kind == MAKES || kind == PERSISTENT || kind == POSTS_COPY;
}

/* Communicators that are made again have the ranks that they had, wherever these are now. */
static struct {
	char recorded[512], made[512]; /* comm_text() of the log and of now; "": of no communicator */
	const struct rdb_host *host;
} comms;

static void keep_comm(char *kept, const void *text, size_t len)
{
	size_t room = sizeof(comms.made) - 1;

	if (len < 5 || memcmp(text, "comm=", 5))
		return;
	memcpy(kept, text, len < room ? len : room);
	kept[len < room ? len : room] = 0;
}

static void keep_made(enum rdb_note what, const void *data, size_t len)
{
	if (what == RDB_NOTE_TEXT)
		keep_comm(comms.made, data, len);
	comms.host->note(what, data, len);
}

static bool other_ranks(void)
{
	const char *was = strstr(comms.recorded, " rank="), *is = strstr(comms.made, " rank=");

	return was && is && strcmp(was, is) != 0;
}

/* Which ranks share a host is another matter here than it was: they are together that were.  The first of them says
 * which of the new communicators it is. */
static void split_as_recorded(uint64_t *a)
{
	int rank = 0, first = UNDEFINED;
	const char *ranks = strstr(comms.recorded, " rank=");

	if (ranks && sscanf(ranks, " rank=%d ranks=%d", &rank, &first) != 2)
		first = UNDEFINED;
	a[3] = a[4];
	a[1] = (uint64_t)(int64_t)first;
	a[2] = (uint64_t)(int64_t)rank;
}

static int64_t made_again(unsigned index, uint32_t nargs, const uint64_t *given)
{
	struct rdb_host listening = *host;
	uint64_t a[TRANSLATION_ARGUMENTS];
	int64_t result;

	memcpy(a, given, nargs * sizeof(*a));
	if (index == RDB_Comm_split_type) {
		index = RDB_Comm_split;
		nargs = 4;
		split_as_recorded(a);
	}
	/* what it frees is named by the program's memory as it is now */
	restart_journal_asked(index, nargs, a);
	comms.host = host;
	listening.note = keep_made;
	host = &listening;
	result = restart_call(index, nargs, a);
	host = comms.host;
	return result;
}

const char *restart_renamed(const uint64_t *handles)
{
	void *made = (void *)handles[0], *known = (void *)handles[1];
	unsigned class = (handles[1] | handles[0]) >> 48 & 0xff;
	bool dynamic_made = handles[0] >> 56 == RDB_DYNAMIC >> 56;
	bool dynamic_known = handles[1] >> 56 == RDB_DYNAMIC >> 56;
	uint32_t id = class < RDB_CLASSES ? rdb_id(class, known) : 0;

	if (!dynamic_made && !dynamic_known)
		return NULL; /* another one of the standard's own, e.g. of two names for the same datatype */
	if (!class || class >= RDB_CLASSES || !rdb_id(class, made) || !id)
		return restart_refuse("", "an object got another handle than it had");
	if (dynamic_made && dynamic_known) {
		object_move(object_of(class, rdb_id(class, made)), id);
	} else if (dynamic_made) {
		object_drop(object_of(class, rdb_id(class, made)));
	} else if (class == RDB_TYPE) {
		MPI_Datatype copy;

		if (PMPI_Type_dup(REAL(MPI_Datatype, object_of(class, rdb_id(class, made))->real), &copy))
			return restart_refuse("", "a datatype cannot be made again");
		PMPI_Type_commit(&copy);
		type_describe((struct vtype *)object_at(class, id, BITS(copy)));
	} else {
		object_at(class, id, object_of(class, rdb_id(class, made))->real);
	}
	return NULL;
}

const char *plugin_restart(enum rdb_restart step, uint32_t fn, uint32_t nargs, const uint64_t *a, int64_t *result)
{
	unsigned index = fn & 0xffff;
	const struct real_function *function = index < real_function_count ? &real_functions[index] : NULL;
	const char *cannot;
	enum kind kind;

	if (step == RDB_RESTART_CUT) {
		cannot = restart_files_cut();
		if (!cannot)
			cannot = restart_journal_save((const char *)a[0]);
		return cannot ? cannot : restart_cut();
	}
	if (step == RDB_RESTART_BEGIN)
		return restart_journal_load((const char *)a[0]);
	if (step == RDB_RESTART_SEND && !nargs)
		return restart_journal_send((unsigned)*result);
	if (step == RDB_RESTART_RENAME)
		return restart_renamed(a);
	if (step == RDB_RESTART_NOTED) {
		keep_comm(comms.recorded, (const void *)a[0], a[1]);
		return NULL;
	}
	if (!function || !function->call)
		return restart_refuse(function ? function->name : "an MPI call", "not supported");
	kind = restart_kind(function->name);
	switch (step) {
	case RDB_RESTART_SEND: return restart_message(function->name, kind, a, (unsigned)*result);
	case RDB_RESTART_ASKED:
		if (kind == UNKNOWN)
			return restart_refuse(function->name, "what it does cannot be brought back");
		cannot = restart_asked(function->name, kind, a);
		if (kind == CLOSES)
			restart_file_asked(a);
		if (!cannot && !*result && of_windows(function->name))
			cannot = restart_window_asked(index, a);
		comms.made[0] = 0;
		if (!cannot && !*result && makes(kind, a)) {
			*result = 1 + made_again(index, nargs, a);
			if (*result != 1)
				cannot = restart_refuse(function->name, failed_here());
			else if (other_ranks())
				cannot = restart_refuse(function->name, "its ranks are others here than they were");
		}
		comms.recorded[0] = 0;
		return cannot;
	default:
		restart_journal_answered();
		cannot = restart_answered(function->name, kind, index, nargs, a, *result != 0);
		if (!cannot && !*result)
			cannot = restart_file_answered(kind, a);
		if (!cannot && !*result && of_windows(function->name))
			cannot = restart_window_answered(index, nargs, a);
		return cannot;
	}
}
