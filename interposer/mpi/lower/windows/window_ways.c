#include "lower/windows/window_ways.h"
#include "lower/objects/real.h"

unsigned window_way(unsigned index)
{
	switch (index) {
	case RDB_Put:
	case RDB_Get:
	case RDB_Accumulate:
	case RDB_Get_accumulate:
	case RDB_Fetch_and_op:
	case RDB_Compare_and_swap:
	case RDB_Rput:
	case RDB_Rget:
	case RDB_Raccumulate:
	case RDB_Rget_accumulate:
	case RDB_Irecv:
	case RDB_Iprobe: /* the message is received by a later call */
	case RDB_Improbe:
	case RDB_Probe:
	case RDB_Mprobe:
	case RDB_Wtime:
	case RDB_Wtick:
	case RDB_Comm_rank:
	case RDB_Comm_size:
	case RDB_Get_count:
	case RDB_Type_size:
	case RDB_Type_get_extent: return 0;
	case RDB_Send:
	case RDB_Ssend:
	case RDB_Rsend:
	case RDB_Bsend:
	case RDB_Isend:
	case RDB_Issend:
	case RDB_Irsend:
	case RDB_Ibsend:
	case RDB_Start:
	case RDB_Startall:
	case RDB_Win_start:
	case RDB_Win_post: return WINDOW_OUT;
	case RDB_Recv:
	case RDB_Mrecv:
	case RDB_Wait:
	case RDB_Waitall:
	case RDB_Waitany:
	case RDB_Waitsome:
	case RDB_Test:
	case RDB_Testall:
	case RDB_Testany:
	case RDB_Testsome:
	case RDB_Win_wait: return WINDOW_IN;
	default: return WINDOW_OUT | WINDOW_IN;
	}
}
