"""One agent per host of a job: it finds the ranks of its host and acts on them for other hosts.

Agents are started by ssh or srun. They form a tree. Commands talk to agents, and agents to each
other, over channels on which both ends hold the job's certificate.
"""
