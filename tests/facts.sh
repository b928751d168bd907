#!/bin/sh
# Whether the MPI takes device buffers is asked of the MPI, and the file says what answered.
set -u

. "$top_srcdir/tests/tap.sh"
[ "$RKC_SANITIZERS" = no ] || skip_all "the sanitizers' libraries would have to come first"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
library=$RKC_LIBDIR/librankclock-mpi.so
RANKCLOCK_OUTPUT=$work/run.h5 RANKCLOCK_WRITER=$RKC_COMMAND
export RANKCLOCK_OUTPUT RANKCLOCK_WRITER

# An MPI that says of itself what ANSWER is, 0 or 1; an Open MPI also that it does as it can, or not.
cat >says.c <<'END'
extern _Bool opal_cuda_support __attribute__((weak));
int MPIX_Query_cuda_support(void)
{
    if (&opal_cuda_support)
        opal_cuda_support = ENABLED;
    return ANSWER;
}
int MPIX_GPU_query_support(int kind, int *yes)
{
    *yes = MPIX_Query_cuda_support() && kind == 0;
    return 0;
}
END
for says in no=0.0 yes=1.1 disabled=1.0; do
    values=${says#*=}
    $CC -shared -fPIC -DANSWER=${values%.*} -DENABLED=${values#*.} -o "${says%=*}.so" says.c ||
        bail "cannot build says.c"
done

# The facts of a run with this preloaded: "yes by MPIX_Query_cuda_support".
aware() { # [PRELOAD]
    rm -f run.h5
    start 60 1 LD_PRELOAD="$library${1:+ $work/$1}" \
        "$top_builddir/tests/apps/ending" finalize >out 2>err
    "$RKC_COMMAND" info run.h5 2>&1 | awk '
        $1 == "gpu_aware" { answer = $2 }
        $1 == "gpu_aware_by" { by = $2 }
        END { print answer " by " by }'
}

echo '#include <mpi.h>
int can = MPIX_GPU_SUPPORT_CUDA;' >has.c
if $MPICC -c has.c -o has.o 2>/dev/null; then
    function=MPIX_GPU_query_support
else
    function=MPIX_Query_cuda_support
fi
open_mpi=no
printf '#include <mpi.h>\n#ifndef OPEN_MPI\n#error\n#endif\n' >has.c
$MPICC -c has.c -o has.o 2>/dev/null && open_mpi=yes

is "$(aware no.so)" "no by $function" "an MPI that says no"
is "$(aware yes.so)" "yes by $function" "an MPI that says yes"
if [ $open_mpi = yes ]; then
    is "$(aware disabled.so)" "no by opal_cuda_support" "an Open MPI that could, but is told not to"
else
    skip 1 "a setting of Open MPI"
fi
own=$(aware)
like "$own" '^\(yes\|no\|unknown\) by' "this machine's MPI is asked, too: $own"
finish
