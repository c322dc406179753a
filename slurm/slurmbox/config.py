"""The files that a box's daemons read."""

import os
import shlex

from slurmbox import ROOT, state

CORES = max(2, os.cpu_count() or 1)  # of each node

SLURM_CONF = """\
ClusterName={name}
SlurmctldHost={controller}({address})
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={spool}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
# Nodes share a machine: its processors are nobody's own, and its control groups not ours.
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
# PMIx makes files there whose names do not contain the node's.
TmpFS={spool}/tmp-%n
TaskProlog={spool}/task_prolog
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# A busy machine answers late, and who tries jobs does not want to wait for the scheduler.
SlurmctldTimeout=120
SlurmdTimeout=120
MessageTimeout=60
ReturnToService=2
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
TopologyPlugin={topology}
{nodes}
PartitionName=box Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""

# What a site's own Open MPI would be told in its mca-params.conf. What jobs set themselves stays.
# UCX and not Open MPI's own TCP, which sometimes crashes in MPI_Init below srun: a rank that is
# through sends to one that is not yet ready to receive.
TASK_PROLOG = """\
#!/bin/sh
. {env_sh}
: "${{OMPI_MCA_pml:=ucx}}" "${{OMPI_MCA_pml_ucx_tls:=any}}" "${{OMPI_MCA_pml_ucx_devices:=any}}"
: "${{OMPI_MCA_osc:=^ucx}}" "${{OMPI_MCA_btl_tcp_if_include:={device}}}"
: "${{OMPI_MCA_oob_tcp_if_include:={device}}}" "${{PRTE_MCA_prte_if_include:={device}}}"
: "${{UCX_TLS:=tcp,self,sm}}" "${{UCX_NET_DEVICES:={device}}}"
export OMPI_MCA_pml OMPI_MCA_pml_ucx_tls OMPI_MCA_pml_ucx_devices OMPI_MCA_osc
export OMPI_MCA_btl_tcp_if_include OMPI_MCA_oob_tcp_if_include PRTE_MCA_prte_if_include
export UCX_TLS UCX_NET_DEVICES
env | sed -n 's/^OMPI_/export &/p; s/^PRTE_/export &/p; s/^UCX_/export &/p'
"""


def write(box, place):
    """Write all files of the box."""
    folder, spool = state.folder_of(box.name), state.spool_of(box.name)
    nodes = place.nodes()
    for path in [folder / "state", *(spool / node.name for node in nodes),
                 *(spool / f"tmp-{node.name}" for node in nodes)]:
        path.mkdir(parents=True)
    controller, address = place.controller()
    lines = [f"NodeName={node.name} NodeHostname={node.host_name} NodeAddr={node.address} "
             f"Port={node.port} CPUs={CORES} State=UNKNOWN" for node in nodes]
    (folder / "slurm.conf").write_text(SLURM_CONF.format(
        name=box.name, controller=controller, address=address, port=box.port, folder=folder,
        spool=spool, topology="topology/tree" if box.switches else "topology/none",
        nodes="\n".join(lines), names=",".join(node.name for node in nodes)))
    if box.switches:
        (folder / "topology.conf").write_text(tree([node.name for node in nodes], box.switches))
    # Other plugins want a system bus, or control groups that a container does not have.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    prolog = spool / "task_prolog"
    prolog.write_text(TASK_PROLOG.format(
        env_sh=shlex.quote(str(ROOT / "scripts" / "env.sh")), device=place.device))
    prolog.chmod(0o755)
    _write_key(folder / "munge.key")


def tree(nodes, switches):
    """Return Slurm's description of leaf switches below a spine: nodes in blocks."""
    leaves = [[] for _ in range(switches)]
    for i, node in enumerate(nodes):
        leaves[i * switches // len(nodes)].append(node)
    lines = [f"SwitchName=leaf{i} Nodes={','.join(leaf)}" for i, leaf in enumerate(leaves, 1)]
    names = ",".join(f"leaf{i}" for i in range(1, switches + 1))
    return "\n".join([*lines, f"SwitchName=spine Switches={names}", ""])


def _write_key(path):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
        file.write(os.urandom(128))


def daemons(box, place):
    """Return the names and command lines of the box's daemons, none of which leaves its parent."""
    folder = state.folder_of(box.name)
    configuration = str(folder / "slurm.conf")
    with_conf = ["env", f"SLURM_CONF={configuration}"]
    munged = ["munged", "--foreground", "--force", f"--key-file={folder}/munge.key",
              f"--socket={folder}/munge.socket", f"--pid-file={folder}/munged.pid",
              f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed",
              "--num-threads=2"]
    controller = [*with_conf, "slurmctld", "-D", "-f", configuration]
    commands = [("munged", munged), ("slurmctld", place.on_controller(controller))]
    for i, node in enumerate(place.nodes()):
        slurmd = [*with_conf, "slurmd", "-D", "-N", node.name, "-f", configuration]
        commands.append((f"slurmd-{node.name}", place.on_node(i, slurmd)))
    return commands
