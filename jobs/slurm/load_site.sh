# shellcheck shell=bash
# Finds and reads the site file: the one that RUEDA_SITE names (a file by a path with a slash, or a name in
# jobs/slurm/sites), else jobs/slurm/site.sh if there is one, else sites/generic.sh. A name alone never means a file of
# the current folder, because the file is run. To be sourced, with RUEDA_ROOT set.

find_site() {
  local folder=$RUEDA_ROOT/jobs/slurm candidate candidates
  case ${RUEDA_SITE:-} in
    "") candidates=("$folder/site.sh" "$folder/sites/generic.sh") ;;
    */*) candidates=("$RUEDA_SITE") ;;
    *) candidates=("$folder/sites/$RUEDA_SITE.sh") ;;
  esac
  for candidate in "${candidates[@]}"; do
    if [ -f "$candidate" ]; then
      echo "$candidate"
      return 0
    fi
  done
  case $RUEDA_SITE in
    */*) echo "rueda: the site file $RUEDA_SITE is not there: correct RUEDA_SITE" ;;
    *) echo "rueda: RUEDA_SITE=$RUEDA_SITE is no name in $folder/sites; a file here is ./$RUEDA_SITE" ;;
  esac >&2
  return 2
}

site=$(find_site) || exit 2
# shellcheck source=jobs/slurm/sites/generic.sh
. "$site"
