/* Sessions (MPI-4.0, 11.3).  All of them are made of MPI_COMM_WORLD and its processes. */
#include "stub.h"

enum { MAX_NAME = 64, TAGS = 32767 };

static struct rdb_lock lock;
static uint32_t next_session = RDB_FIRST_DYNAMIC;
static int open_sessions;

static const char *const psets[] = {"mpi://WORLD", "mpi://SELF"};

#define SESSION_NULL HANDLE(RDB_SESSION, RDB_NULL_ID)

int rdb_sessions_open(void)
{
	return open_sessions;
}

static int equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static int bad(MPI_Session session, const char *name)
{
	return rdb_error_on(RDB_SESSION, session, MPI_ERR_ARG, name);
}

static int is_open(MPI_Session session)
{
	return rdb_id(RDB_SESSION, session) >= RDB_FIRST_DYNAMIC;
}

static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
				     "MPI_THREAD_MULTIPLE"};

static int wanted_level(MPI_Info info)
{
	char value[MAX_NAME] = "";
	int flag = 0;

	if (rdb_id(RDB_INFO, info) > RDB_NULL_ID)
		PMPI_Info_get(info, "thread_level", sizeof(value) - 1, value, &flag);
	for (int i = 0; flag && i < (int)COUNT(levels); i++)
		if (equal(levels[i], value))
			return i;
	return 0;
}

RDB_MPI(int, Session_init, MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	struct rdb_object *object;
	int err = rdb_begin(wanted_level(info));
	uint32_t id;

	if (err)
		return err;
	rdb_lock(&lock);
	id = next_session++;
	open_sessions++;
	rdb_unlock(&lock);
	object = rdb_object_get(RDB_SESSION, id);
	if (object && rdb_id(RDB_ERRHANDLER, errhandler) > RDB_NULL_ID)
		object->errhandler = errhandler;
	*session = rdb_handle(RDB_SESSION, id);
	return MPI_SUCCESS;
}

RDB_MPI(int, Session_finalize, MPI_Session *session)
{
	if (!session || !is_open(*session))
		return bad(session ? *session : SESSION_NULL, "MPI_Session_finalize");
	rdb_object_forget(RDB_SESSION, rdb_id(RDB_SESSION, *session));
	*session = SESSION_NULL;
	rdb_lock(&lock);
	open_sessions--;
	rdb_unlock(&lock);
	return rdb_session_ended();
}

RDB_MPI(int, Session_get_num_psets, MPI_Session session, MPI_Info info __attribute__((unused)), int *number)
{
	if (!is_open(session))
		return bad(session, "MPI_Session_get_num_psets");
	*number = COUNT(psets);
	return MPI_SUCCESS;
}

static int length(const char *text)
{
	int n = 0;

	while (text[n])
		n++;
	return n;
}

RDB_MPI(int, Session_get_nth_pset, MPI_Session session, MPI_Info info __attribute__((unused)), int n, int *pset_len,
	char *pset_name)
{
	int room;

	if (!is_open(session) || n < 0 || n >= (int)COUNT(psets))
		return bad(session, "MPI_Session_get_nth_pset");
	room = *pset_len;
	*pset_len = length(psets[n]) + 1;
	for (int i = 0; i < room; i++) {
		pset_name[i] = (char)(i + 1 < room ? psets[n][i] : 0);
		if (!pset_name[i])
			break;
	}
	return MPI_SUCCESS;
}

static int same_letter(char a, char b)
{
	return a == b || ((a ^ b) == 0x20 && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
}

/* Names of process sets are URIs; MPIs compare them without regard to case. */
static int same_pset(const char *a, const char *b)
{
	while (*a && same_letter(*a, *b)) {
		a++;
		b++;
	}
	return *a == *b;
}

/* The communicator of a process set; NULL: there is no such set. */
static MPI_Comm comm_of(const char *pset)
{
	return same_pset(pset, psets[0]) ? MPI_COMM_WORLD : same_pset(pset, psets[1]) ? MPI_COMM_SELF : NULL;
}

static int info_of(MPI_Info *info, const char *key, const char *value)
{
	int err = PMPI_Info_create(info);

	return err ? err : PMPI_Info_set(*info, key, value);
}

RDB_MPI(int, Session_get_pset_info, MPI_Session session, const char *pset_name, MPI_Info *info)
{
	char digits[12];
	int size = 0, at = sizeof(digits) - 1;

	if (!is_open(session) || !comm_of(pset_name))
		return bad(session, "MPI_Session_get_pset_info");
	PMPI_Comm_size(comm_of(pset_name), &size);
	digits[at] = 0;
	do {
		digits[--at] = (char)('0' + size % 10);
	} while (size /= 10);
	return info_of(info, "mpi_size", digits + at);
}

RDB_MPI(int, Session_get_info, MPI_Session session, MPI_Info *info)
{
	int level = 0;

	if (!is_open(session))
		return bad(session, "MPI_Session_get_info");
	PMPI_Query_thread(&level);
	return info_of(info, "thread_level", levels[level]);
}

RDB_MPI(int, Group_from_session_pset, MPI_Session session, const char *pset_name, MPI_Group *group)
{
	if (!is_open(session) || !comm_of(pset_name))
		return bad(session, "MPI_Group_from_session_pset");
	return PMPI_Comm_group(comm_of(pset_name), group);
}

/* Calls with the same string belong together.  Tags of MPI_Comm_create_group are separate from those of messages. */
static int tag_of(const char *text)
{
	uint32_t hash = 2166136261u;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 16777619u;
	return (int)(hash % TAGS);
}

static void handle_errors(MPI_Comm comm, MPI_Errhandler errhandler)
{
	if (rdb_id(RDB_COMM, comm) > RDB_NULL_ID && rdb_id(RDB_ERRHANDLER, errhandler) > RDB_NULL_ID)
		PMPI_Comm_set_errhandler(comm, errhandler);
}

RDB_MPI(int, Comm_create_from_group, MPI_Group group, const char *stringtag, MPI_Info info __attribute__((unused)),
	MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
	int err = PMPI_Comm_create_group(MPI_COMM_WORLD, group, tag_of(stringtag), newcomm);

	if (!err)
		handle_errors(*newcomm, errhandler);
	return err;
}

RDB_MPI(int, Intercomm_create_from_groups, MPI_Group local_group, int local_leader, MPI_Group remote_group,
	int remote_leader, const char *stringtag, MPI_Info info __attribute__((unused)), MPI_Errhandler errhandler,
	MPI_Comm *newintercomm)
{
	const int tag = tag_of(stringtag);
	MPI_Group world;
	MPI_Comm local;
	int leader, err = PMPI_Comm_group(MPI_COMM_WORLD, &world);

	if (!err)
		err = PMPI_Group_translate_ranks(remote_group, 1, &remote_leader, world, &leader);
	if (!err)
		err = PMPI_Group_free(&world);
	if (!err)
		err = PMPI_Comm_create_group(MPI_COMM_WORLD, local_group, tag, &local);
	if (!err)
		err = PMPI_Intercomm_create(local, local_leader, MPI_COMM_WORLD, leader, tag, newintercomm);
	if (!err) {
		handle_errors(*newintercomm, errhandler);
		err = PMPI_Comm_free(&local);
	}
	return err;
}
