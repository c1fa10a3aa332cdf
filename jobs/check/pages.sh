#!/usr/bin/env bash
# Opens the pages of reports in Chromium, without a screen: nothing runs out of the screen or the paper, every heading,
# link and picture is there, every text can be read. Installs the browser and the reader's libraries where they are missing.
#
#   jobs/check/pages.sh          a minute
#   jobs/check/pages.sh CASE     for example Pages.test_the_page_of_a_study
set -euo pipefail

# shellcheck source=jobs/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
cd "$root"

packages=(chromium python3 python3-jinja2 python3-matplotlib python3-numpy python3-pandas)
install_packages
exec /usr/bin/python3 tests/browser/pages_test.py "$@"
