/* Outputs of the calls for System V IPC, POSIX message queues, keys and quotas. */
#include <linux/dqblk_xfs.h>
#include <linux/keyctl.h>
#include <linux/quota.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include "answer/syscall_outputs.h"

#define A(i) (ev->args[i])
#define P(i) ((void *)ev->args[i])

enum {
	IPC_CMD = 0xff,
	/* mask that removes IPC_64, which libcs set */ STAT_ANY_SHM = 15,
	STAT_ANY_SEM = 20,
	STAT_ANY_MSG = 13
};

void out_shmctl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(1) & IPC_CMD) {
	case IPC_STAT:
	case SHM_STAT:
	case STAT_ANY_SHM: out_if(ev, A(2), sizeof(struct shmid_ds)); return;
	case IPC_INFO: out_if(ev, A(2), sizeof(struct shminfo)); return;
	case SHM_INFO: out_if(ev, A(2), sizeof(struct shm_info)); return;
	}
}

void out_semctl(struct event *ev)
{
	struct semid_ds ds;
	if (ev->result < 0)
		return;
	switch (A(2) & IPC_CMD) {
	case IPC_STAT:
	case SEM_STAT:
	case STAT_ANY_SEM: out_if(ev, A(3), sizeof(struct semid_ds)); return;
	case IPC_INFO:
	case SEM_INFO: out_if(ev, A(3), sizeof(struct seminfo)); return;
	case GETALL:
		if (raw_syscall(SYS_semctl, (long)A(0), 0, IPC_STAT, (long)&ds, 0, 0) == 0)
			out_if(ev, A(3), ds.sem_nsems * sizeof(unsigned short));
		return;
	}
}

void out_msgctl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(1) & IPC_CMD) {
	case IPC_STAT:
	case MSG_STAT:
	case STAT_ANY_MSG: out_if(ev, A(2), sizeof(struct msqid_ds)); return;
	case IPC_INFO:
	case MSG_INFO: out_if(ev, A(2), sizeof(struct msginfo)); return;
	}
}

void out_msgrcv(struct event *ev)
{
	if (ev->result >= 0)
		out_if(ev, A(1), sizeof(long) + (uint64_t)ev->result);
}

void out_mq_receive(struct event *ev)
{
	if (ev->result < 0)
		return;
	out_if(ev, A(1), (uint64_t)ev->result);
	out_if(ev, A(3), sizeof(unsigned));
}

static size_t at_most(int64_t result, uint64_t room)
{
	return (uint64_t)result < room ? (uint64_t)result : room;
}

/* keyctl(2): most commands write nothing to memory */
void out_keyctl(struct event *ev)
{
	if (ev->result < 0)
		return;
	switch (A(0)) {
	case KEYCTL_DESCRIBE:
	case KEYCTL_READ:
	case KEYCTL_GET_SECURITY: out_if(ev, A(2), at_most(ev->result, A(3))); return;
	case KEYCTL_DH_COMPUTE: out_if(ev, A(2), at_most(ev->result, A(3))); return;
	case KEYCTL_PKEY_QUERY: out_if(ev, A(4), sizeof(struct keyctl_pkey_query)); return;
	case KEYCTL_PKEY_ENCRYPT:
	case KEYCTL_PKEY_DECRYPT:
	case KEYCTL_PKEY_SIGN: out_if(ev, A(4), (uint64_t)ev->result); return;
	case KEYCTL_CAPABILITIES: out_writable(ev, A(1), A(2)); return; /* the rest is filled with zeros */
	}
}

/* quotactl(2), fs/quota/quota.c */
void out_quotactl(struct event *ev)
{
	/* quotactl has the command first, quotactl_fd second */
	unsigned cmd = (unsigned)(ev->nr == SYS_quotactl ? A(0) : A(1)) >> SUBCMDSHIFT;
	if (ev->result < 0)
		return;
	switch (cmd) {
	case Q_GETFMT: out_if(ev, A(3), 4); return;
	case Q_GETINFO: out_if(ev, A(3), sizeof(struct if_dqinfo)); return;
	case Q_GETQUOTA: out_if(ev, A(3), sizeof(struct if_dqblk)); return;
	case Q_GETNEXTQUOTA: out_if(ev, A(3), sizeof(struct if_nextdqblk)); return;
	case Q_XGETQUOTA:
	case Q_XGETNEXTQUOTA: out_if(ev, A(3), sizeof(struct fs_disk_quota)); return;
	case Q_XGETQSTAT: out_if(ev, A(3), sizeof(struct fs_quota_stat)); return;
	case Q_XGETQSTATV: out_if(ev, A(3), sizeof(struct fs_quota_statv)); return;
	}
}
