"""The site file of Slurm jobs, which is bash, read for --submit."""

import os
import subprocess

from fault import Fault
from presets import ROOT

# What this program needs to know of it; submit.sh reads the rest.
NAMES = ["RUEDA", "RUEDA_CONTAINER", "RUEDA_DATA", "RUEDA_CORES_PER_RANK", "RUEDA_GPUS_PER_NODE"]


def read_site(site):
    """Puts its values into the environment. `site`: a file, a name in jobs/slurm/sites, or None."""
    if site:
        os.environ["RUEDA_SITE"] = site
    os.environ["RUEDA_ROOT"] = str(ROOT)
    script = '. "$RUEDA_ROOT/jobs/slurm/load_site.sh" && printf "%s\\n" '
    script += " ".join('"${%s-}"' % name for name in NAMES)
    shell = subprocess.Popen(
        ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True
    )
    values, error = shell.communicate()
    if shell.returncode != 0:
        said = error.strip().splitlines()
        raise Fault(said[-1] if said else "the site file cannot be read")
    os.environ.update(zip(NAMES, values.split("\n")))
