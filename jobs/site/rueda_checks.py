"""ReFrame's checks of an installed rueda: is the machine ready, and does it train as fast as it did?

reframe -c rueda_checks.py -r -S executable=/opt/rueda/bin/rueda -S num_tasks=4 -S RuedaTrain.least=2000

`least` is the least speed that passes, in images per second over all ranks; 0 accepts any.
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable


class RuedaCheck(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "rueda"
    num_tasks = 2


@rfm.simple_test
class RuedaDoctor(RuedaCheck):
    executable_opts = ["doctor"]

    @sanity_function
    def found_no_fault(self):
        return sn.assert_eq(self.job.exitcode, 0, msg="rueda doctor found a fault: see rfm_job.out")


@rfm.simple_test
class RuedaTrain(RuedaCheck):
    executable_opts = ("train --epochs 3 --data-limit 1024 --eval-every 0 --progress lines --run-dir run "
                       "--overwrite").split()
    least = variable(float, value=0.0)

    @run_after("init")
    def run_after_the_doctor(self):
        self.depends_on("RuedaDoctor")

    @sanity_function
    def trained_all_epochs(self):
        return sn.assert_found(r"^Epoch 3/3 ", self.stdout)

    @run_before("performance")
    def set_reference(self):
        self.reference = {"*": {"speed": (self.least, 0, None, "images/s")}}

    @performance_function("images/s")
    def speed(self):
        return sn.extractsingle(r"^Epoch 3/3 .* ([\d.,]+) images/s", self.stdout, 1,
                                lambda text: float(text.replace(",", "")))
