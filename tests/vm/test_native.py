"""What the machines can do without rdb: everything else is compared with this."""

from __future__ import annotations

import pytest

from vm.guest import Guest
from vm.programs import GROUP, JOINED, PAIRS, Pair

pytestmark = pytest.mark.rdma
TIMEOUT_S = 60

PYVERBS = """
import pyverbs.device as d
from pyverbs.pd import PD
from pyverbs.mr import MR
import pyverbs.enums as e
names = [x.name.decode() for x in d.get_device_list()]
with d.Context(name=names[0]) as context, PD(context) as pd:
    with MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE) as mr:
        mr.write(b"bytes", 5)
        print(names, context.query_device().phys_port_cnt, mr.read(5, 0), mr.lkey != 0)
"""


def run_pair(server: Guest, client: Guest, pair: Pair) -> None:
    """Both sides end well, and what they sent left the device: it was not TCP."""
    before = server.sent_packets()
    serving = server.start(pair.server, ready=pair.ready, timeout_s=TIMEOUT_S).until_ready()
    host = f"10.9.0.{int(server.name[1:]) + 1}"
    called = client.run(pair.client.format(host=host), timeout_s=TIMEOUT_S)
    served = serving.wait()
    assert (called.code, served.code) == (0, 0), called.text + served.text
    assert pair.prints in called.out
    if server is client:
        assert server.sent_packets() - before >= pair.packets


def test_the_device_is_there(alone: Guest) -> None:
    shown = alone.run("ibv_devinfo -v")
    assert shown.code == 0, shown.text
    assert "hca_id:\trxe0" in shown.out and "PORT_ACTIVE" in shown.out
    # GID 1 is the address on eth0, which the programs here are told to use.
    assert "::ffff:10.9.0.1" in shown.out


@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: p.name)
def test_programs_in_one_machine(alone: Guest, pair: Pair) -> None:
    run_pair(alone, alone, pair)


def test_multicast(alone: Guest) -> None:
    receiving = alone.start(GROUP, timeout_s=TIMEOUT_S)
    assert alone.run(JOINED).code == 0
    sent = alone.run(f"{GROUP} -s", timeout_s=TIMEOUT_S)
    received = receiving.wait()
    assert (sent.code, received.code) == (0, 0), sent.text + received.text
    assert "data transfers complete" in received.out


def test_pyverbs(alone: Guest) -> None:
    shown = alone.run(
        f"cat > /tmp/pyverbs_test.py <<'END'\n{PYVERBS}\nEND\npython3 /tmp/pyverbs_test.py"
    )
    assert shown.out == "['rxe0'] 1 b'bytes' True\n", shown.text


def test_programs_between_machines(pair: list[Guest]) -> None:
    server, client = pair
    for program in PAIRS:
        before = client.sent_packets()
        run_pair(server, client, program)
        assert client.sent_packets() > before, program.name


def test_a_command_that_takes_too_long_is_ended(alone: Guest) -> None:
    ended = alone.run("echo begun; sleep 1000", timeout_s=1)
    assert (ended.code, ended.out) == (124, "begun\n")
    assert alone.run("exit 3").code == 3


def test_what_a_machine_writes_stays_in_it(alone: Guest) -> None:
    made = alone.run(
        f"mkdir -p /tmp/of-the-guest && touch {__file__} && echo ok > {__file__}; cat {__file__}"
    )
    assert made.out == "ok\n"
    with open(__file__) as here:
        assert here.readline().startswith('"""What the machines')
