"""A Laplacian that Debian's GetFEM discretises and solves with its MUMPS.

u = x^2 - y^2 is harmonic, and in the finite element space.
"""
import sys

import getfem
import numpy as np

side = np.arange(0, 1.01, 0.05)
mesh = getfem.Mesh("cartesian", side, side)
space = getfem.MeshFem(mesh, 1)
space.set_fem(getfem.Fem("FEM_QK(2,2)"))
integration = getfem.MeshIm(mesh, getfem.Integ("IM_GAUSS_PARALLELEPIPED(2,4)"))
model = getfem.Model("real")
model.add_fem_variable("u", space)
model.add_Laplacian_brick(integration, "u")
mesh.set_region(1, mesh.outer_faces())
expected = space.eval("x*x-y*y")
model.add_initialized_fem_data("g", space, expected)
model.add_Dirichlet_condition_with_multipliers(integration, "u", space, 1, "g")
model.solve("lsolver", "mumps")
error = np.abs(model.variable("u") - expected).max()
print(f"{expected.size} unknowns, error {error:.1e}")
sys.exit(0 if error < 1e-10 else 1)
