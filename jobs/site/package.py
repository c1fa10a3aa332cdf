"""Spack's package of rueda, for version 1 of Spack and its package repository.

Put it into packages/rueda/ of a repository of your own (spack repo create). From rueda's source tree:
spack dev-build rueda@1.0.0
"""

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.meson import MesonPackage


class Rueda(MesonPackage, CudaPackage):
    """Trains ResNets on CIFAR-10 with one MPI rank per device, and says where the time goes."""

    license("Apache-2.0")
    version("1.0.0")
    variant("plots", default=True, description="matplotlib, for the charts of reports")

    depends_on("cxx", type="build")
    depends_on("meson@1.0.1:", type="build")
    depends_on("python@3.6:", type=("build", "run"))
    depends_on("py-matplotlib", when="+plots", type="run")
    for library in ("mpi", "cli11", "fmt", "hwloc@2:", "libarchive", "nlohmann-json", "spdlog", "tomlplusplus", "zlib-api"):
        depends_on(library)
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("cudnn@9:", when="+cuda")
    depends_on("cuda@12:", when="+cuda")

    def meson_args(self):
        cuda = self.spec.satisfies("+cuda")
        args = ["-Dtests=false", "-Dcuda=" + ("enabled" if cuda else "disabled")]
        archs = [arch for arch in self.spec.variants["cuda_arch"].value if arch != "none"] if cuda else []
        return args + (["-Dgpu_archs=" + ",".join(archs)] if archs else [])
