#!/bin/sh
# A program made by nvcc -cudart shared runs on the doubles of libcudart.so.13 and libcuda.so.1.
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

# build NAME [FLAG]...
build() {
    name=$1
    shift
    "$NVCC" -cudart shared "$@" -o "$work/$name" "$top_srcdir/tests/fakecuda/program.cu" \
        >"$work/log" 2>&1
}

# run NAME [VARIABLE=VALUE]...
folders=$RKC_FAKECUDA/.libs
run() {
    name=$1
    shift
    env LD_LIBRARY_PATH="$folders" "$@" "$work/$name" 2>&1
}

build program
ok $? "nvcc makes a program" "$work/log"
out=$(run program FAKECUDA_VIRTUAL=1 FAKECUDA_DEVICES=2 FAKECUDA_KERNEL_NS=work:3000000,1000)
is "$?" 0 "it runs"
like "$out" '^devices 2$' "on as many devices as there are"
like "$out" '^device 1$' "on the one it chose"
like "$out" '^pending 1$' "a kernel takes time"
like "$out" '^work 3.00 ms$' "that which its name was given"
like "$out" '^graph 6.00 ms$' "in a graph, too"
like "$out" '^moved 0 to 999$' "copies and memsets move data"
like "$out" '^wrong launch: cudaErrorInvalidValue$' "a wrong launch is an error"
like "$out" '^then: no error$' "which is told once"
like "$out" '^end 0$' "and to the end nothing is wrong"

folders=$RKC_FAKECUDA/11.0/.libs:$folders
out=$(run program FAKECUDA_DRIVER_VERSION=11000 FAKECUDA_KERNEL_NS=2000000)
like "$out" '^end 0$' "it runs with the oldest driver and the real clock"
like "$out" '^work [2-9]' "in which a kernel takes its time at least"

folders=$RKC_FAKECUDA/.libs
out=$(run program FAKECUDA_DEVICES=0)
like "$out" '^wrong launch: cudaErrorNoDevice$' "without a device that is what it is told"
mkdir "$work/alone"
cp "$RKC_FAKECUDA/.libs/libcudart.so.13" "$work/alone"
out=$(LD_LIBRARY_PATH=$work/alone "$work/program" 2>&1)
like "$out" '^wrong launch: cudaErrorInsufficientDriver$' "and so it is without a driver"

build per_thread --default-stream per-thread
ok $? "nvcc makes a program with per-thread default streams" "$work/log"
out=$(run per_thread FAKECUDA_VIRTUAL=1 FAKECUDA_KERNEL_NS=3000000)
like "$out" '^work 3.00 ms$' "which runs as well"
finish
