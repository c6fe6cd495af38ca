# A Spack package, for a repository of one's own:
#
#     spack repo create espalier && mkdir espalier/packages/espalier
#     cp package.py espalier/packages/espalier && spack repo add espalier
#     spack dev-build espalier@main        # in a checkout
#
# runtime_tests/package holds that the options named here are those of the build. Never
# built: no Spack was at hand.

from spack.package import *


class Espalier(CMakePackage):
    """Task trees, graphs and training steps scheduled inside a bound on memory, and a
    sparse direct solver on StarPU that keeps one."""

    license("Apache-2.0")

    version("main")

    variant("starpu", default=True, description="The StarPU policy and the solver")
    variant("mpi", default=False, description="The solver on several processes")
    variant("metis", default=True, description="Order with METIS")
    variant("scotch", default=False, description="Order with SCOTCH")
    variant("hwloc", default=True, description="Read the machine's cores")
    variant("tests", default=False, description="Build the tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("fmt@9:")
    depends_on("tl-expected@1:")
    depends_on("cli11@2:")
    depends_on("nlohmann-json@3.11:")
    depends_on("zlib-api")
    depends_on("blas")
    depends_on("lapack")
    depends_on("starpu@1.3:1.4", when="+starpu")
    depends_on("mpi", when="+mpi")
    depends_on("starpu+mpi", when="+mpi")
    depends_on("metis@5:", when="+metis")
    depends_on("scotch@6:", when="+scotch")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("googletest@1.12:", when="+tests", type="build")

    conflicts("+mpi", when="~starpu")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("ESPALIER_WITH_STARPU", "starpu"),
            self.define_from_variant("ESPALIER_WITH_MPI", "mpi"),
            self.define_from_variant("ESPALIER_WITH_METIS", "metis"),
            self.define_from_variant("ESPALIER_WITH_SCOTCH", "scotch"),
            self.define_from_variant("ESPALIER_WITH_HWLOC", "hwloc"),
            self.define("ESPALIER_WITH_ONNX", False),
            self.define("ESPALIER_WITH_DNNL", False),
            self.define_from_variant("ESPALIER_BUILD_TESTS", "tests"),
        ]
