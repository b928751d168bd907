#!/bin/sh
# rankclock/gpu.h in programs: in C and C++, without a cast for CUDA's streams, with CUDA's own
# headers where they are.
set -u
. "$top_srcdir/tests/tap.sh"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# A program of any language; with -DCUDA_H it has CUDA's types from there.
cat >"$work/use.c" <<'TEXT'
#ifdef CUDA_H
#include CUDA_H
#include <cuda_runtime_api.h>
typedef cudaStream_t runtime_stream;
#else
typedef struct CUstream_st *CUstream;
typedef CUstream runtime_stream;
#endif
#include <rankclock/rankclock.h>

int use(CUstream stream, runtime_stream other, void *any);
int use(CUstream stream, runtime_stream other, void *any)
{
    struct rkc_event *event = NULL;
    struct rkc_stream *object = NULL;
    int64_t ns = 0;
    int bad = rkc_event_create(-1, RKC_EVENT_TIMING, &event);
    bad |= rkc_event_record(event, stream) | rkc_event_record(event, other) |
           rkc_event_record(event, any) | rkc_event_record(event, NULL);
    bad |= rkc_event_wait(event, stream) | rkc_stream_push(other) |
           rkc_stream_external(0, stream, &object);
    bad |= rkc_event_elapsed_ns(event, event, &ns);
    stream = (CUstream)rkc_stream_current(-1, other);
    bad |= rkc_event_record(event, stream);
    rkc_event_destroy(event);
    rkc_stream_destroy(object);
    rkc_gpu_begin(rkc_region_get("a"), stream);
    rkc_gpu_end(rkc_region_get("a"), other);
#ifndef __cplusplus
    RKC_SCOPE_GPU("b", stream);
    RKC_SCOPE_GPU("c", NULL);
#endif
    return bad;
}
TEXT
cp "$work/use.c" "$work/use.cpp"

# compiles COMPILER FILE WHAT [FLAG...]
compiles() {
    compiler=$1 file=$2 what=$3
    shift 3
    # shellcheck disable=SC2086 # a compiler with flags
    $compiler -Wall -Wextra -Wshadow -Werror -I"$top_srcdir/include" "$@" -c "$work/$file" \
        -o "$work/use.o" >"$work/out" 2>&1
    ok $? "$what" "$work/out"
}

# both WHAT [FLAG...]
both() {
    text=$1
    shift
    compiles "$CC" use.c "in C, $text" -std=c11 "$@"
    if [ -n "${CXX:-}" ] && $CXX -c "$work/use.cpp" -I"$top_srcdir/include" -o "$work/use.o" \
        2>/dev/null; then
        compiles "$CXX" use.cpp "in C++, $text" -std=c++11 "$@"
    else
        skip 1 "no C++ compiler"
    fi
}

both "a stream passes without a cast"
both "where NULL is the thread's own stream, too" -DCUDA_API_PER_THREAD_DEFAULT_STREAM
both "and where the rest of rankclock is nothing" -DRKC_DISABLE
if [ -n "${NVCC:-}" ]; then
    cuda=$(dirname "$(dirname "$NVCC")")/include
    both "with CUDA's own headers" -isystem "$cuda" '-DCUDA_H=<cuda.h>'
    both "and its per-thread streams" -isystem "$cuda" '-DCUDA_H=<cuda.h>' \
        -DCUDA_API_PER_THREAD_DEFAULT_STREAM
else
    skip 4 "no CUDA toolkit"
fi
finish
