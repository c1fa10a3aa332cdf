#!/usr/bin/env bash
# Starts a training again, from its last checkpoint, until it ends by itself: jobs/run-again.sh --help.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/run_again.py" "$@"
