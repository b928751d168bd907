#!/bin/sh
# An MPI+CUDA program under `rankclock run`, on the doubles of CUDA's runtime and driver: its result
# is what it is without, and the file has its device time, to the ns on the virtual clock.
set -u
. "$top_srcdir/tests/tap.sh"
[ -n "$NVCC" ] || skip_all 'no CUDA toolkit'
[ "$RKC_SANITIZERS" = no ] || skip_all 'the program is built without sanitizers'
case $("$NVCC" --version) in
*'release 13.'*) ;;
*) skip_all 'the double of the runtime is that of CUDA 13' ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1

"$NVCC" -cudart shared -fmad=false -ccbin "${MPICC%% *}" -I"$top_srcdir/include" \
    -o heat_gpu "$top_srcdir/tests/apps/heat_gpu.cu" -L"$RKC_LIBDIR" -lrankclock -lstdc++ -ldl \
    >log 2>&1
ok $? "nvcc makes the program" log
[ -x heat_gpu ] || finish

libraries=$RKC_LIBDIR
doubles=$RKC_FAKECUDA/.libs
# on_double RANKS [COMMAND]...: run the program, by a command, with the doubles' virtual clock.
on_double() {
    ranks=$1
    shift
    LD_LIBRARY_PATH=$libraries:$doubles FAKECUDA_VIRTUAL=1 \
        "$@" $MPIRUN -n "$ranks" ./heat_gpu -n 64 -s 50 >out 2>err
}
run="$RKC_COMMAND run"

# --- the result is right, and the same with rankclock ---

$MPIRUN -n 2 "$top_builddir/tests/apps/heat" -n 64 -s 50 >heat.out 2>heat.err
on_double 2 env RANKCLOCK_ENABLE=off
is "$? $(cat out)" "0 $(cat heat.out)" "the plate gets as warm as without a device"
plain=$(cat out)
on_double 2 $run -o two.h5 --
is "$? $(cat out)" "0 $plain" "and so it does under rankclock run"
is "$(cat err)" "$(cat heat.err)rankclock: wrote two.h5" "which says nothing but what it wrote"
on_double 3 env FAKECUDA_DEVICES=2 $run -o three.h5 --
is "$? $(cat out)" "0 $plain" "and on three ranks that share two devices"

# --- the file: rank 1 has 43 of 64 rows; a cell takes 2 ns, a row 128 ---

cat >look.py <<'EOP'
import sys
import h5py

file = h5py.File(sys.argv[1], "r")
names = [name.decode() for name in file["regions/name"][:]]

def of(metric, region):
    for path, index in enumerate(file["callpaths/region"][:]):
        if names[index] == region:
            return file["per_rank"][metric][:, path].tolist()

if "device_ns" not in file["profile"]:
    print("host", (file["profile/inclusive_ns/sum"][:] > 0)[[names[i] in ("inner", "border", "look")
          for i in file["callpaths/region"][:]]].tolist())
    sys.exit()
for region in "inner", "border", "look":
    print(region, of("device_visits", region), of("device_ns", region))
print("devices", len(file["devices/uuid"]), len(set(file["devices/uuid"][:])))
use = file["device_use"]
for column in "rank", "device", "device_ns", "covered_ns":
    print(column, use[column][:].tolist())
print("ranks", file["ranks/device"][:].tolist(), file["ranks/device_ns"][:].tolist())
EOP
look() {
    ${PYTHON:-/usr/bin/python3} look.py "$1" 2>&1
}
if ${PYTHON:-/usr/bin/python3} -c 'import h5py' 2>/dev/null; then
    is "$(look two.h5)" "inner [50, 50] [$((50 * 19 * 128)), $((50 * 41 * 128))]
border [50, 50] [$((50 * 2 * 128)), $((50 * 2 * 128))]
look [6, 6] [$((6 * 21 * 128)), $((6 * 43 * 128))]
devices 1 1
rank [0, 1]
device [0, 0]
device_ns [150528, 308224]
covered_ns [150528, 308224]
ranks [0, 0] [150528, 308224]" "the file has the device time of each region and rank, to the ns"
    three=$(look three.h5)
    like "$three" '^devices 2 2$' "devices are counted once, whoever shares them"
    like "$three" '^device \[0, 1, 0\]$' "and each rank knows its own"
else
    skip 3 "no h5py"
fi

# --- preloaded, without the command ---

on_double 2 env RANKCLOCK_OUTPUT=preloaded.h5 LD_PRELOAD="$RKC_LIBDIR/librankclock-mpi.so" \
    RANKCLOCK_WRITER="$RKC_COMMAND"
is "$? $(cat out)" "0 $plain" "preloaded alone it works as well"
like "$("$RKC_COMMAND" info preloaded.h5 2>&1)" 'device_ns' "and has device time"

# --- without the device ---

# without WHAT FILE REASON: the run that was made has host times alone.
without() {
    is "$? $(cat out)" "0 $plain" "$1: the result is the same"
    is "$(cat err)" "$(cat heat.err)rankclock: GPU regions have host times alone: $3
rankclock: wrote $2" "$1: one line says why, and nothing more"
    if ${PYTHON:-/usr/bin/python3} -c 'import h5py' 2>/dev/null; then
        is "$(look "$2")" "host [True, True, True]" "$1: host times stay"
    else
        skip 1 "no h5py"
    fi
}
on_double 2 env RANKCLOCK_GPU=off $run -o off.h5 --
without "RANKCLOCK_GPU=off" off.h5 "RANKCLOCK_GPU is off"
on_double 2 env FAKECUDA_DEVICES=0 $run -o none.h5 --
without "no device" none.h5 "the program has not initialised CUDA"
mkdir alone && cp "$RKC_FAKECUDA/.libs/libcudart.so.13" alone
doubles=$work/alone
on_double 2 $run -o driverless.h5 --
without "no driver" driverless.h5 "the program has not loaded libcuda.so.1"
finish
