# shellcheck shell=bash
# Finds and reads the site file: the one that RUEDA_SITE names (a file, or a name in jobs/slurm/sites),
# else jobs/slurm/site.sh if there is one, else sites/generic.sh. To be sourced, with RUEDA_ROOT set.

find_site() {
  local folder=$RUEDA_ROOT/jobs/slurm candidate
  for candidate in "${RUEDA_SITE:-$folder/site.sh}" "$folder/sites/${RUEDA_SITE:-generic}.sh"; do
    if [ -f "$candidate" ]; then
      echo "$candidate"
      return 0
    fi
  done
  echo "rueda: the site file $RUEDA_SITE is neither a file nor in $folder/sites: correct RUEDA_SITE" >&2
  return 2
}

site=$(find_site) || exit 2
# shellcheck source=jobs/slurm/sites/generic.sh
. "$site"
