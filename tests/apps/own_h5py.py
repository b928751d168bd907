"""A Python program whose ranks write one file together, by mpi4py and a parallel h5py."""
import sys

from mpi4py import MPI
import h5py

world = MPI.COMM_WORLD
if not h5py.get_config().mpi:
    print("no parallel h5py")
    sys.exit(0)
with h5py.File("own.h5", "w", driver="mpio", comm=world) as file:
    values = file.create_dataset("values", (world.size,), dtype="i8")
    values[world.rank] = world.rank * world.rank
world.Barrier()
with h5py.File("own.h5", "r", driver="mpio", comm=world) as file:
    good = file["values"][:].tolist() == [rank * rank for rank in range(world.size)]
sys.stdout.write("rank %d %s\n" % (world.rank, "done" if good else "failed"))
