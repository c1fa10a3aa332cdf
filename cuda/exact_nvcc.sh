#!/bin/sh
# exact_nvcc.sh NVCC ARGUMENT...: runs nvcc. nvcc itself adds NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS, and no option
# undoes fast math there: exponentials would be approximate, and NaN unseen.
case "$NVCC_PREPEND_FLAGS $NVCC_APPEND_FLAGS" in
  *fast*math* | *Ofast* | *unsafe-math* | *finite-math-only*)
    echo "fast math makes results wrong: take it out of NVCC_PREPEND_FLAGS (\"$NVCC_PREPEND_FLAGS\") and \
NVCC_APPEND_FLAGS (\"$NVCC_APPEND_FLAGS\")" >&2
    exit 1
    ;;
esac
exec "$@"
