"""Two queue pairs of one process, in pyverbs (Debian's python3-pyverbs)."""

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
TEXT = "hello from pyverbs"

name = get_device_list()[0].name.decode()
context = Context(name=name)
print(name, context.query_port(1).state == e.IBV_PORT_ACTIVE)
pd = PD(context)
channel = CompChannel(context)
cq = CQ(context, 16, None, channel, 0)
mr = MR(pd, 4096, ACCESS)


def pair() -> QP:
    cap = QPCap(8, 8, 1, 1, 0)
    return QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap))


one, other = pair(), pair()
for me, peer in ((one, other), (other, one)):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    me.to_init(attr)
    attr = QPAttr(port_num=1)
    attr.dest_qp_num = peer.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1
    attr.min_rnr_timer = 12
    attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
    route = GlobalRoute(dgid=context.query_gid(1, 0), sgid_index=0)
    attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=route, dlid=0)
    me.to_rts(attr)

other.post_recv(RecvWR(sg=[SGE(mr.buf + 2048, 64, mr.lkey)], num_sge=1, wr_id=5))
mr.write(TEXT, len(TEXT))
cq.req_notify()
sge = SGE(mr.buf, len(TEXT), mr.lkey)
one.post_send(SendWR(wr_id=6, sg=[sge], num_sge=1, opcode=e.IBV_WR_SEND))
channel.get_cq_event(cq)
cq.ack_events(1)
done: list[int] = []
while len(done) < 2:
    _, completions = cq.poll(2)
    done += [completion.wr_id for completion in completions if completion.status == 0]
print(sorted(done), mr.read(len(TEXT), 2048).decode())
