"""One agent per host: it finds the ranks there, and does to them what is asked from elsewhere.

Agents are started by ssh or srun, and talk to who asks, and to each other, over channels on which
both ends have proved that they know the job's secret.  They form a tree.
"""
