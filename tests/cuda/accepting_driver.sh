#!/usr/bin/env bash
# Writes the source of a libcuda.so.1 that accepts every call and does nothing. With it cuDNN compiles its
# engines for a GPU that is described, where there is none.
#
#   accepting_driver.sh STUB OUTPUT    STUB: libcuda.so of a toolkit, which names the driver's functions
set -euo pipefail
nm -D --defined-only "$1" | awk '
  $3 ~ /^cu(Init|GetExportTable)$/ {
    print "extern \"C\" int " $3 "() { return 100; }  // no device"; next }
  $3 ~ /^cu(Library|Module)(Load|Get(Kernel|Module|Function)$)|^cuKernelGetFunction$/ {
    print "extern \"C\" int " $3 "(const void** made) { *made = \"\"; return 0; }"; next }
  $2 == "T" { print "extern \"C\" int " $3 "() { return 0; }" }' >"$2"
