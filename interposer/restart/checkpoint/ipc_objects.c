#include "restart/checkpoint/ipc_objects.h"
#include <stdio.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/lower.h"
#include "task/thread.h"

enum { IDS = 256 };

/* Numbers that a program has used; those that exist no more make room. */
static struct {
	struct one {
		long stat; /* the call that tells whether it exists */
		int id;
	} list[IDS];
	unsigned n;
	bool full;
	char why[128];
} used;

static bool exists(const struct one *o)
{
	union {
		struct semid_ds sem;
		struct msqid_ds msg;
		struct shmid_ds shm;
	} now;
	if (o->stat == SYS_semctl)
		return raw_syscall(SYS_semctl, o->id, 0, IPC_STAT, (long)&now, 0, 0) >= 0;
	if (raw_syscall(o->stat, o->id, IPC_STAT, (long)&now, 0, 0, 0) < 0)
		return false;
	return o->stat != SYS_shmctl || !(now.shm.shm_perm.mode & SHM_DEST);
}

static void note_held(long stat, int id)
{
	unsigned i = 0;
	while (i < used.n && !(used.list[i].stat == stat && used.list[i].id == id))
		i++;
	if (i < used.n)
		return;
	for (i = 0; i < used.n && exists(&used.list[i]);)
		i++;
	if (i == IDS) {
		used.full = true;
		return;
	}
	used.list[i] = (struct one){.stat = stat, .id = id};
	used.n += i == used.n;
}

static void note(long stat, int id)
{
	threads_lock();
	note_held(stat, id);
	threads_unlock();
}

void ipc_objects_syscall(const struct event *ev)
{
	switch (ev->nr) {
	case SYS_semget: note(SYS_semctl, (int)ev->result); break;
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_semctl: note(SYS_semctl, (int)ev->args[0]); break;
	case SYS_msgget: note(SYS_msgctl, (int)ev->result); break;
	case SYS_msgsnd:
	case SYS_msgrcv: note(SYS_msgctl, (int)ev->args[0]); break;
	case SYS_shmget: note(SYS_shmctl, (int)ev->result); break;
	case SYS_shmat: note(SYS_shmctl, (int)ev->args[0]); break;
	default: break;
	}
}

bool ipc_objects_hand_on(int fd)
{
	return write(fd, &used, sizeof(used)) == (ssize_t)sizeof(used);
}

bool ipc_objects_inherit(int fd)
{
	return read(fd, &used, sizeof(used)) == (ssize_t)sizeof(used);
}

const char *ipc_objects_refuse(void)
{
	if (used.full)
		return "it uses too many objects of System V";
	for (const struct one *o = used.list; o < used.list + used.n; o++)
		if (exists(o)) {
			snprintf(used.why, sizeof(used.why), "it uses a System V %s (number %d)",
				 o->stat == SYS_semctl   ? "semaphore set"
				 : o->stat == SYS_msgctl ? "message queue"
							 : "segment that others may attach",
				 o->id);
			return used.why;
		}
	return NULL;
}
