# --- tests ---------------------------------------------------------------------------------------
#
# To add one, add its name to one list; that it has a time limit and a number of ranks of its own is
# said in its source, by /* LIMIT 900 */ and /* RANKS 2 */ (# LIMIT 900 in a shell test).
#
#   tests/x.t      the program tests/x.c, run as it is; it reaches librankclock's hidden symbols
#   tests/x.mpi    the program tests/x.c, run on some ranks; it reaches librankclock-mpi's, too
#   tests/x.sh     a shell script that runs whole programs
#
# tests/env.sh sets the environment of all; make check-quick leaves the slow ones out, make check-mpi
# those that are the same under every MPI, make check-dist all but some of each kind. They bear being
# run side by side: make -j 2 check.

# Of librankclock.
C_TESTS = \
	tests/gpu_timeline.t \
	tests/calltree.t \
	tests/clock.t \
	tests/collect.t \
	tests/collect_open.t \
	tests/collect_times.t \
	tests/config.t \
	tests/copy_moving.t \
	tests/fork.t \
	tests/gpu_find.t \
	tests/identity.t \
	tests/image.t \
	tests/instants.t \
	tests/local.t \
	tests/neighbors.t \
	tests/nomem.t \
	tests/pack.t \
	tests/pipe.t \
	tests/profile.t \
	tests/profile_mpi.t \
	tests/region.t \
	tests/spawn.t \
	tests/spool.t \
	tests/stats.t \
	tests/stream.t \
	tests/thread.t

# Of the command, the sink and the reader.
C_COMMAND_TESTS = \
	tests/devices.t \
	tests/hdf5.t \
	tests/launch.t \
	tests/mpi_tables.t \
	tests/reader.t \
	tests/reader_mpi.t \
	tests/text.t

# Of librankclock-mpi.
MPI_TESTS = \
	tests/failed.mpi \
	tests/gather.mpi \
	tests/instants_mpi.mpi \
	tests/kinds.mpi \
	tests/matrix.mpi \
	tests/polls.mpi \
	tests/reduce.mpi \
	tests/requests.mpi \
	tests/traffic.mpi \
	tests/waits.mpi \
	tests/gpu_mpi.mpi \
	tests/wrap.mpi \
	$(EVERY_TESTS)

# Each calls all functions of one file of rows.
EVERY_TESTS = \
	tests/every/coll.mpi \
	tests/every/comm.mpi \
	tests/every/io.mpi \
	tests/every/misc.mpi \
	tests/every/p2p.mpi \
	tests/every/rma.mpi \
	tests/every/type.mpi

# Of the double of libcuda.so.1.
FAKECUDA_TESTS = \
	tests/fakecuda.t \
	tests/fakecuda_capture.t \
	tests/fakecuda_driver.t \
	tests/fakecuda_ipc.t \
	tests/fakecuda_memory.t

# Of librankclock, on that double.
GPU_TESTS = \
	tests/gpu_backend.t \
	tests/gpu_driver.t \
	tests/gpu_event.t \
	tests/gpu_faults.t \
	tests/gpu_ipc.t \
	tests/gpu_memory.t \
	tests/gpu_numa.t \
	tests/gpu_per_thread.t \
	tests/gpu_region.t \
	tests/gpu_stream.t

SH_TESTS = \
	tests/fakecuda_nvcc.sh \
	tests/gpu_check.sh \
	tests/gpu_header.sh \
	tests/layers.sh

SH_MPI_TESTS = \
	tests/apart.sh \
	tests/coverage.sh \
	tests/one_mpi.sh

# They run the command, on no ranks ...
SH_COMMAND_TESTS = \
	tests/file.sh \
	tests/manual.sh \
	tests/nompi.sh \
	tests/report.sh

# ... or on some.
SH_COMMAND_MPI_TESTS = \
	tests/facts.sh \
	tests/gpu_heat.sh \
	tests/lifecycle.sh \
	tests/next.sh \
	tests/other_mpi.sh \
	tests/run.sh \
	tests/sessions.sh \
	tests/ways.sh

SLOW_SH_TESTS = \
	tests/configure.sh \
	tests/reproducible.sh

SLOW_SH_COMMAND_TESTS = \
	tests/image_live.sh \
	tests/install.sh

# In which the MPI is what matters.
SLOW_SH_MPI_TESTS = \
	tests/cases.sh \
	tests/finalize.sh \
	tests/fortran.sh \
	tests/hosts.sh \
	tests/images.sh \
	tests/many.sh \
	tests/publish.sh \
	tests/recover.sh \
	tests/save.sh \
	tests/signals.sh \
	tests/slurm.sh \
	tests/strangers.sh \
	tests/time_limit.sh \
	tests/torture.sh \
	tests/writer.sh

# Programs for the shell tests to use: to make files and images, to look into them ...
COMMAND_HELPERS = \
	tests/image_copy \
	tests/image_reader \
	tests/make_file \
	tests/report_file \
	tests/show_file \
	tests/torture

# ... and programs to be measured, as users write them: some that run well and one for each case.
APPS = \
	tests/apps/ending \
	tests/apps/habits \
	tests/apps/heat \
	tests/apps/image_writer \
	tests/apps/signals \
	tests/apps/sums \
	tests/apps/victim

CASES = \
	tests/cases/c01_polling \
	tests/cases/c01b_thousand_requests \
	tests/cases/c02_null_requests \
	tests/cases/c02b_zero_size \
	tests/cases/c02c_proc_null \
	tests/cases/c04_persistent \
	tests/cases/c04b_free_active \
	tests/cases/c04c_cancel \
	tests/cases/c06_short_receive \
	tests/cases/c06b_waitall_error \
	tests/cases/c07_matched_probe \
	tests/cases/c09_bottom \
	tests/cases/c11_in_place \
	tests/cases/c11b_collective_bytes \
	tests/cases/c13_alltoallw \
	tests/cases/c14_type_size \
	tests/cases/c15_intercomm \
	tests/cases/c15b_uneven_groups \
	tests/cases/c17_many_comms \
	tests/cases/c19_atexit_finalize \
	tests/cases/c20_before_after \
	tests/cases/c21b_exec_self \
	tests/cases/c22_exit \
	tests/cases/c22b_exit_in_region \
	tests/cases/c23_abort \
	tests/cases/c23b_fatal_error \
	tests/cases/c23c_abort_in_handler \
	tests/cases/c24_spawn \
	tests/cases/c24b_spawn_multiple \
	tests/cases/c24c_connect \
	tests/cases/c25_threads \
	tests/cases/c25b_serialized \
	tests/cases/c25c_init_in_thread \
	tests/cases/c27_mpmd_a \
	tests/cases/c27_mpmd_b \
	tests/cases/c28_thread_regions \
	tests/cases/c28b_fork \
	tests/cases/c29_misuse \
	tests/cases/c29b_longjmp \
	tests/cases/c30_unclosed \
	tests/cases/c32_recursion \
	tests/cases/c32b_mutual \
	tests/cases/c34_many_names \
	tests/cases/c34b_odd_names \
	tests/cases/c36b_unseen_init \
	tests/cases/c42_errhandler \
	tests/cases/c42b_error_codes \
	tests/cases/c43_status \
	tests/cases/c46_mixed_requests \
	tests/cases/c47_send_modes \
	tests/cases/c49_outside_mpi \
	tests/cases/c49b_pending_finalize \
	tests/cases/c67_signals \
	tests/cases/c74_some_ranks

# What tests/gpu/check runs on a machine with a GPU, and tests/gpu_check.sh on the double: they open
# the driver themselves.
GPU_RULES = \
	tests/gpu/measure \
	tests/gpu/rules_capture \
	tests/gpu/rules_driver \
	tests/gpu/rules_event \
	tests/gpu/rules_life \
	tests/gpu/rules_object \
	tests/gpu/rules_pointer \
	tests/gpu/rules_region

GPU_BENCHES = \
	tests/bench/gpu_bench

# What they include, read, build or are run by.
EXTRA_DIST += \
	tests/apps/disabled.c \
	tests/apps/heat.h \
	tests/apps/heat_gpu.cu \
	tests/apps/loader.c \
	tests/apps/looks.c \
	tests/apps/nompi.c \
	tests/apps/opened.c \
	tests/apps/other_tool.c \
	tests/apps/own_h5py.py \
	tests/apps/own_hdf5.c \
	tests/apps/ring.c \
	tests/apps/scopes.cpp \
	tests/apps/sessions.c \
	tests/cases/c36_fortran.f90 \
	tests/cases/c36c_fortran_f08.f90 \
	tests/cases/c38_fortran_sentinels.f90 \
	tests/cases/case.h \
	tests/cases/check.py \
	tests/cases/check_selftest.py \
	tests/cases/profile_file.py \
	tests/beside.h \
	tests/counters.h \
	tests/elf_edit.py \
	tests/faults.c \
	tests/fortran \
	tests/gpu_double.h \
	tests/golden \
	tests/golden.h \
	tests/gpu/RESULTS.md \
	tests/gpu/check \
	tests/hold.c \
	tests/hostile \
	tests/leaks.supp \
	tests/limit.sh \
	tests/mpirun.sh \
	tests/notes.h \
	tests/ranks.h \
	tests/round_trip.h \
	tests/slurm/start \
	tests/slurm/stop \
	tests/start.sh \
	tests/synthetic.h \
	tests/tap.h \
	tests/tap.sh \
	tests/tree.h

QUICK_TESTS = $(C_TESTS) $(FAKECUDA_TESTS) $(GPU_TESTS) $(SH_TESTS)
SLOW_TESTS = $(SLOW_SH_TESTS)
check_PROGRAMS += $(C_TESTS) $(FAKECUDA_TESTS) $(GPU_TESTS) $(GPU_RULES) $(GPU_BENCHES)
if HDF5
QUICK_TESTS += $(C_COMMAND_TESTS)
check_PROGRAMS += $(C_COMMAND_TESTS) $(COMMAND_HELPERS)
endif
if MPI
QUICK_TESTS += $(MPI_TESTS) $(SH_MPI_TESTS)
check_PROGRAMS += $(MPI_TESTS) $(APPS) $(CASES)
if HDF5
QUICK_TESTS += $(SH_COMMAND_TESTS) $(SH_COMMAND_MPI_TESTS)
SLOW_TESTS += $(SLOW_SH_COMMAND_TESTS) $(SLOW_SH_MPI_TESTS)
endif
endif
check_DATA = tests/env.sh
dist_check_SCRIPTS = \
	$(SH_TESTS) $(SH_MPI_TESTS) $(SH_COMMAND_TESTS) $(SH_COMMAND_MPI_TESTS) \
	$(SLOW_SH_TESTS) $(SLOW_SH_COMMAND_TESTS) $(SLOW_SH_MPI_TESTS)

# A program links what LDADD names, which differs between the lists. The programs to be measured link
# the shared library, which the linker drops again from those that do not call it.
LDADD = librkc-core.la $(LIBM)
MPI_LIBS = librkc-mpi.la librkc-core.la
$(C_COMMAND_TESTS) $(COMMAND_HELPERS): $(COMMAND_LIBS)
$(C_COMMAND_TESTS) $(COMMAND_HELPERS): LDADD = $(COMMAND_LIBS) $(HDF5_COMMAND_LIBS) $(LIBM)
$(C_COMMAND_TESTS) $(COMMAND_HELPERS): AM_LDFLAGS += $(HDF5_RPATH)
STEPS = tests/steps.c tests/steps.h tests/image_checks.c tests/image_checks.h
tests_image_reader_SOURCES = tests/image_reader.c tests/image_checks.c tests/image_checks.h
tests_instants_t_SOURCES = tests/instants.c $(STEPS)
tests_instants_mpi_mpi_SOURCES = tests/instants_mpi.c $(STEPS)
tests_torture_SOURCES = tests/torture.c tests/torture.h tests/torture_checks.c tests/torture_run.c \
	tests/image_checks.c tests/image_checks.h
tests_polls_mpi_SOURCES = tests/polls.c tests/image_checks.c tests/image_checks.h
tests_reader_t_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_reader_mpi_t_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
$(MPI_TESTS): $(MPI_LIBS)
$(MPI_TESTS): LDADD = $(MPI_LIBS) $(LIBM)
tests_gpu_mpi_mpi_LDADD = $(MPI_LIBS) tests/fakecuda/libcuda.la $(LIBM)
tests_gpu_mpi_mpi_LDFLAGS = $(AM_LDFLAGS) -no-install
tests_kinds_mpi_LDADD = $(MPI_LIBS) tests/fakecuda/libcuda.la $(LIBM)
tests_kinds_mpi_LDFLAGS = $(AM_LDFLAGS) -no-install
# Part of them calls what mpi.h calls deprecated.
EVERY = tests/every/every.c tests/every/every.h tests/every/rows.h
$(EVERY_TESTS): AM_CFLAGS += -Wno-deprecated-declarations
tests_every_coll_mpi_SOURCES = $(EVERY) tests/every/coll.c tests/every/coll_blocking.c \
	tests/every/coll_calls.h tests/every/coll_nonblocking.c tests/every/coll_operations.c \
	tests/every/coll_persistent.c
tests_every_comm_mpi_SOURCES = $(EVERY) tests/every/comm.c tests/every/comm_communicators.c \
	tests/every/comm_groups.c tests/every/comm_processes.c tests/every/comm_sessions.c \
	tests/every/comm_topologies.c
tests_every_io_mpi_SOURCES = $(EVERY) tests/every/io.c tests/every/io_accesses.c \
	tests/every/io_files.c
tests_every_misc_mpi_SOURCES = $(EVERY) tests/every/misc.c tests/every/misc_environment.c \
	tests/every/misc_external.c tests/every/misc_infos.c
tests_every_p2p_mpi_SOURCES = $(EVERY) tests/every/p2p.c tests/every/p2p_blocking.c \
	tests/every/p2p_persistent.c tests/every/p2p_requests.c
tests_every_rma_mpi_SOURCES = $(EVERY) tests/every/rma.c tests/every/rma_moves.c \
	tests/every/rma_windows.c
tests_every_type_mpi_SOURCES = $(EVERY) tests/every/type.c tests/every/type_packing.c \
	tests/every/type_types.c
$(FAKECUDA_TESTS): tests/fakecuda/libcuda.la
$(FAKECUDA_TESTS): LDADD = tests/fakecuda/libcuda.la
$(FAKECUDA_TESTS): AM_LDFLAGS += -no-install
$(GPU_TESTS): tests/fakecuda/libcuda.la librkc-core.la
$(GPU_TESTS): LDADD = librkc-core.la tests/fakecuda/libcuda.la $(LIBM)
$(GPU_TESTS): AM_LDFLAGS += -no-install
$(GPU_RULES): librkc-core.la
$(APPS) $(CASES): librankclock.la
$(APPS) $(CASES): LDADD = librankclock.la
$(APPS) $(CASES): AM_LDFLAGS += -no-install

RULES_SOURCES = tests/gpu/rules.c tests/gpu/rules.h tests/gpu/rules.def tests/gpu/work.c
tests_gpu_measure_SOURCES = tests/gpu/measure.c $(RULES_SOURCES)
tests_gpu_rules_capture_SOURCES = tests/gpu/rules_capture.c $(RULES_SOURCES)
tests_gpu_rules_driver_SOURCES = tests/gpu/rules_driver.c $(RULES_SOURCES)
tests_gpu_rules_event_SOURCES = tests/gpu/rules_event.c $(RULES_SOURCES)
tests_gpu_rules_life_SOURCES = tests/gpu/rules_life.c $(RULES_SOURCES)
tests_gpu_rules_object_SOURCES = tests/gpu/rules_object.c $(RULES_SOURCES)
tests_gpu_rules_pointer_SOURCES = tests/gpu/rules_pointer.c $(RULES_SOURCES)
tests_gpu_rules_region_SOURCES = tests/gpu/rules_region.c $(RULES_SOURCES)

# A double of CUDA's driver, for machines without a GPU; see tests/fakecuda/fakecuda.h. That in 11.0/
# has no symbol that is newer than that version.
check_LTLIBRARIES += \
	tests/fakecuda/libfake.la \
	tests/fakecuda/libcuda.la \
	tests/fakecuda/11.0/libcuda.la
tests_fakecuda_libfake_la_SOURCES = \
	tests/fakecuda/capture.c \
	tests/fakecuda/clock.c \
	tests/fakecuda/constants.def \
	tests/fakecuda/context.c \
	tests/fakecuda/cuda_abi.h \
	tests/fakecuda/device.c \
	tests/fakecuda/double.h \
	tests/fakecuda/entries.def \
	tests/fakecuda/event.c \
	tests/fakecuda/fakecuda.h \
	tests/fakecuda/graph.c \
	tests/fakecuda/handles.c \
	tests/fakecuda/ipc.c \
	tests/fakecuda/kernel.c \
	tests/fakecuda/memory.c \
	tests/fakecuda/queue.c \
	tests/fakecuda/settings.c \
	tests/fakecuda/state.c \
	tests/fakecuda/stream.c \
	tests/fakecuda/symbols.c
if HAVE_NVCC
tests_fakecuda_libfake_la_SOURCES += tests/fakecuda/abi_check.c
endif
tests_fakecuda_libfake_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
FAKECUDA_LDFLAGS = $(AM_LDFLAGS) $(RKC_SHLIB_LDFLAGS) -shared -rpath /nowhere

tests_fakecuda_libcuda_la_SOURCES =
tests_fakecuda_libcuda_la_LIBADD = tests/fakecuda/libfake.la
tests_fakecuda_libcuda_la_LDFLAGS = $(FAKECUDA_LDFLAGS) -version-info 1:0:0

tests_fakecuda_11_0_libcuda_la_SOURCES =
tests_fakecuda_11_0_libcuda_la_LIBADD = tests/fakecuda/libfake.la
tests_fakecuda_11_0_libcuda_la_LDFLAGS = $(FAKECUDA_LDFLAGS) -version-info 1:0:0 \
	-Wl,--version-script=tests/fakecuda/newer.map
EXTRA_tests_fakecuda_11_0_libcuda_la_DEPENDENCIES = tests/fakecuda/newer.map
tests/fakecuda/newer.map: tests/fakecuda/entries.def
	$(AM_V_GEN)$(AWK) -F '[(, ]+' 'BEGIN { print "{ local:" } \
	/^(STREAM_)?ENTRY/ && $$3 > 11000 { print $$4 "; " $$4 "_ptsz;" } END { print "};" }' \
	$(srcdir)/tests/fakecuda/entries.def >$@

# A runtime on top of it, for programs that nvcc makes.
check_LTLIBRARIES += tests/fakecuda/libcudart.la
tests_fakecuda_libcudart_la_SOURCES = \
	tests/fakecuda/constants.def \
	tests/fakecuda/cuda_abi.h \
	tests/fakecuda/cudart.c \
	tests/fakecuda/entries.def
tests_fakecuda_libcudart_la_LDFLAGS = $(FAKECUDA_LDFLAGS) -version-info 13:0:0 \
	-Wl,--version-script=$(srcdir)/tests/fakecuda/libcudart.map
EXTRA_tests_fakecuda_libcudart_la_DEPENDENCIES = tests/fakecuda/libcudart.map
EXTRA_DIST += tests/fakecuda/libcudart.map tests/fakecuda/program.cu

# A double of what PyTorch's library has for others, as it is and as it was early.
check_LTLIBRARIES += \
	tests/faketorch/libtorch_cuda.la \
	tests/faketorch/early/libtorch_cuda.la
FAKETORCH_LDFLAGS = $(AM_LDFLAGS) $(RKC_SHLIB_LDFLAGS) -shared -avoid-version -rpath /nowhere
tests_faketorch_libtorch_cuda_la_SOURCES = tests/faketorch/torch.c
tests_faketorch_libtorch_cuda_la_LDFLAGS = $(FAKETORCH_LDFLAGS)
tests_faketorch_early_libtorch_cuda_la_SOURCES = tests/faketorch/torch.c
tests_faketorch_early_libtorch_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) -DEARLY
tests_faketorch_early_libtorch_cuda_la_LDFLAGS = $(FAKETORCH_LDFLAGS)

TESTS = $(QUICK_TESTS)
if SLOW_TESTS
TESTS += $(SLOW_TESTS)
endif
TEST_EXTENSIONS = .t .mpi .sh
AM_TESTS_ENVIRONMENT = . ./tests/env.sh;
TAP = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
T_LOG_DRIVER = $(TAP)
T_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/limit.sh
MPI_LOG_DRIVER = $(TAP)
MPI_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/mpirun.sh
SH_LOG_DRIVER = $(TAP)
SH_LOG_COMPILER = $(SHELL) $(top_srcdir)/tests/limit.sh

# What the tests are made of, to be built in parallel. Not of "all", a make of its own that would
# build the same libraries at the same time.
check-build: all-am $(check_LTLIBRARIES) $(check_PROGRAMS) $(check_DATA)

check-quick:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(QUICK_TESTS)'

# In which ranks run, with what they are made of alone.
check-mpi-build: all-am $(check_LTLIBRARIES) $(MPI_TESTS) $(COMMAND_HELPERS) $(APPS) $(CASES) $(check_DATA)

check-mpi: check-mpi-build
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS= check_LTLIBRARIES= \
		TESTS='$(MPI_TESTS) $(SH_MPI_TESTS) $(SH_COMMAND_MPI_TESTS) $(SLOW_SH_MPI_TESTS)'

# distcheck with the tests that read the most of the source, enough of each kind to see that what was
# built from the archive, beside a source that is read-only, works.
DIST_TESTS = $(C_TESTS) $(C_COMMAND_TESTS) $(SH_COMMAND_TESTS) \
	tests/coverage.sh tests/layers.sh tests/one_mpi.sh tests/wrap.mpi
check-dist:
	$(MAKE) $(AM_MAKEFLAGS) distcheck TESTS='$(DIST_TESTS)'

# To install this build moves its libraries aside for a moment, in which no other test may run: these
# two come after all others that are to be run.
OTHER_LOGS = $(TEST_LOGS:tests/reproducible.log=)
FIRST_LOGS = $(OTHER_LOGS:tests/install.log=)
tests/install.log: $(FIRST_LOGS)
tests/reproducible.log: $(OTHER_LOGS)

AM_DISTCHECK_CONFIGURE_FLAGS = --disable-slow-tests CC='$(CC)'
