"""Spack's package of rueda, for version 1 of Spack and its package repository.

jobs/site/release.sh writes a repository of Spack with this package, in which the address and the sum are those of the
archive that it makes. From rueda's source tree, which needs neither: spack dev-build rueda@1.0.0
"""

from spack.package import depends_on, license, variant, version, when, which
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.meson import MesonPackage


class Rueda(MesonPackage, CudaPackage):
    """Trains ResNets on CIFAR-10 with one MPI rank per device, and says where the time goes."""

    homepage = "https://rueda.example"
    url = "file:///nowhere/rueda-1.0.0.tar.gz"

    license("Apache-2.0")

    version("1.0.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("plots", default=True, description="Reports, predictions and charts, by libraries of Python")
    variant("nccl", default=False, description="NCCL's all-reduce beside rueda's own", when="+cuda")

    depends_on("cxx", type="build")
    depends_on("meson@1.0.1:", type="build")
    depends_on("python@3.6:", type=("build", "run"))
    with when("+plots"):
        depends_on("python@3.9:", type="run")
        depends_on("py-jinja2", type="run")
        depends_on("py-matplotlib", type="run")
        depends_on("py-numpy", type="run")
        depends_on("py-pandas", type="run")

    depends_on("mpi")
    depends_on("cli11")
    depends_on("fmt")
    depends_on("hwloc@2:")
    depends_on("libarchive")
    depends_on("nlohmann-json")
    depends_on("onednn@2.6: cpu_runtime=omp")
    depends_on("spdlog")
    depends_on("tomlplusplus")
    depends_on("zlib-api")
    depends_on("cuda@12:", when="+cuda")
    depends_on("cudnn@9:", when="+cuda")
    depends_on("nccl", when="+nccl")

    def meson_args(self):
        on = {name: "enabled" if self.spec.satisfies(f"+{name}") else "disabled" for name in ("cuda", "nccl")}
        args = ["-Dtests=false", f"-Dcuda={on['cuda']}", f"-Dnccl={on['nccl']}"]
        args += ["-Dunity=on", "-Dunity_size=16"]  # several sources compiled as one take half the time
        archs = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ()
        chosen = [arch for arch in archs if arch != "none"]
        return args + (["-Dgpu_archs=" + ",".join(chosen)] if chosen else [])

    def test_summary(self):
        """the installed program describes a network"""
        rueda = which(self.prefix.bin.rueda, required=True)
        assert "resnet20" in rueda("summary", "--model", "resnet20", output=str.split, error=str.split)
