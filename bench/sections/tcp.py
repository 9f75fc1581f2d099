"""MPI ping-pong between two ranks over TCP on the loopback interface: half a round trip."""

from __future__ import annotations

from bench.figures import Section
from bench.sections import pingpong
from bench.setup import Bench

TITLE = "MPI ping-pong over TCP (loopback), half a round trip"
_TCP = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_btl_tcp_if_include": "lo",
}


def measure(bench: Bench, section: Section) -> None:
    pingpong.half_round_trips(bench, section, _TCP)
