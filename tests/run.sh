#!/bin/sh
# `rankclock run`: each rank gets the library and its variables, whatever starts it; the command
# notices nothing, and at the end stderr says what was written.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top_srcdir/tests/start.sh"
cd "$work" || exit 1
HOME=$work
export HOME
heat=$top_builddir/tests/apps/heat
run="$RKC_COMMAND run"

# What a rank sees of the library and the variables.
cat >show <<'END'
#!/bin/sh
library=${LD_PRELOAD##*/}
echo "$1 ${library%%.so*} ${RANKCLOCK_RUN_ID:+id} ${RANKCLOCK_OUTPUT##*/} ${OTHER-}"
END
chmod +x show
seen="librankclock-mpi id out.h5"

# --- a measured run ---

$MPIRUN -n 4 "$heat" -n 64 -s 50 >plain.out 2>plain.err
$run -o heat.h5 -- $MPIRUN -n 4 "$heat" -n 64 -s 50 >out 2>err
is "$?" 0 "the exit status is the command's"
is "$(cat out)" "$(cat plain.out)" "stdout is the command's alone"
is "$(cat err)" "$(cat plain.err)rankclock: wrote heat.h5" "stderr says which file was written"
like "$("$RKC_COMMAND" report heat.h5)" 'COMPLETE (4/4 ranks)$' "which holds all ranks"
like "$("$RKC_COMMAND" report heat.h5)" 'tests/apps/heat -n 64 -s 50' "and the program's command"
$run -o heat.h5 -- $MPIRUN -n 4 "$heat" -n 64 -s 50 >out 2>err
like "$(cat err)" '^rankclock: wrote heat\..*h5$' "a file that exists is not replaced"
unlike "$(cat err)" 'wrote heat\.h5$' "but has a successor, which is named"
mkdir -p deep
$run -o 'deep/%n.h5' -- $MPIRUN -n 2 --wdir / "$heat" -n 64 -s 50 >out 2>err
is "$(cat err)" "rankclock: wrote deep/heat.h5" \
    "a name is taken from where rankclock runs, its letters from the ranks"
RANKCLOCK_ENABLE=off $run -o off.h5 -- $MPIRUN -n 2 "$heat" -n 64 -s 50 >out 2>err
is "$(cat err) $(ls off* 2>/dev/null)" "rankclock: nothing was recorded: RANKCLOCK_ENABLE is off " \
    "without recording there is no file, and stderr says why"

# --- a run that ends early ---

cat >abort.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    sleep(20);
    return MPI_Finalize();
}
END
if $MPICC -o abort abort.c 2>err; then
    $run -o abort.h5 -- $MPIRUN -n 2 ./abort >out 2>err
    is "$?" 3 "an aborted run has its own exit status"
    is "$(grep '^rankclock: wrote' err)" \
        "rankclock: wrote abort.h5 (2 of 2 ranks, ABORTED) of what was saved of the run" \
        "and a file of what its ranks left, which stderr names"
    like "$("$RKC_COMMAND" report abort.h5 2>&1)" 'ABORTED (' "and the report shows"
else
    skip 3 "$MPICC cannot build a program"
fi
$run -o none.h5 -- true >out 2>err
like "$(cat err)" '^rankclock: the program left no file' "without MPI or regions there is none"

# --- the command notices nothing ---

$run -- sh -c 'exit 7' 2>err
is "$?" 7 "an exit status"
$run -- sh -c 'kill -9 $$' 2>err
is "$?" 137 "128 and the number of a signal"
$run -- ./nowhere 2>err
is "$? $(cat err)" "127 rankclock: cannot run ./nowhere: No such file or directory" "127 for none"
$run -- ./abort.c 2>err
is "$? $(cat err)" "126 rankclock: cannot run ./abort.c: Permission denied" \
    "126 for one that cannot"
is "$(echo words | $run -- cat 2>err)" "words" "stdin is the command's"
is "$(LD_PRELOAD=$RKC_LIBDIR/librankclock.so $run -- sh -c 'echo "$LD_PRELOAD"' 2>err)" \
    "$RKC_LIBDIR/librankclock.so:$(realpath "$RKC_LIBDIR/librankclock-mpi.so")" \
    "the library is added behind what is preloaded"

cat >count <<'END'
#!/bin/sh
terms=0 tries=0
trap 'terms=$((terms + 1))' TERM
: >ready
while [ "$terms" -eq 0 ] && [ "$tries" -lt 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
sleep 0.5 # for one more
echo "terms $terms"
exit 5
END
chmod +x count
terminate() { # COMMAND...: once ./count is ready
    "$@" $run -- ./count >out 2>err &
    tries=0
    while [ ! -e ready ] && [ "$tries" -lt 600 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    rm -f ready
    kill -TERM $!
    wait $!
}
terminate env
is "$? $(cat out)" "5 terms 1" "a signal is passed on"
terminate timeout 100 # which sends it to all of its group
is "$(cat out)" "terms 1" "one that all the group was sent is not sent twice"

# --- every rank, by every launcher ---

if [ "$mpi" = openmpi ]; then
    ranks() { # OPTION... : the ranks' lines, sorted
        $run -o out.h5 -- "$@" 2>err | sort
    }
    is "$(ranks $MPIRUN -n 2 ./show a : -n 1 ./show b)" "a $seen 
a $seen 
b $seen " "Open MPI: each application context"
    is "$(OTHER=1 ranks $MPIRUN -x OTHER -n 1 ./show a)" "a $seen 1" "beside the user's own -x"
    is "$(OMPI_MCA_mca_base_env_list='OTHER=2' ranks $MPIRUN -n 1 ./show a)" "a $seen 2" \
        "or in a list in the environment"
    is "$(ranks $MPIRUN --mca mca_base_env_list 'OTHER=3' -n 1 ./show a)" "a $seen 3" \
        "on the command line"
    mkdir -p .openmpi
    echo 'mca_base_env_list = OTHER=4' >.openmpi/mca-params.conf
    is "$(ranks $MPIRUN -n 1 ./show a)" "a $seen 4" "or in the user's settings"
    rm -r .openmpi
    printf -- '-n 1 ./show a\n-x OTHER=5 -n 1 ./show b\n' >apps
    is "$(ranks $MPIRUN --app apps)" "a $seen 
b $seen 5" "each line of an application file"
    is "$(ranks env OTHER=6 timeout 20 $MPIRUN -n 1 ./show a)" "a $seen 6" "behind env and timeout"
    is "$(ranks $MPIRUN -n 1 sh -c 'ldd /bin/true | grep -c librankclock-mpi')" 1 "it is loaded"
else
    skip 8 "$MPIRUN is not Open MPI's"
fi
hydra=$(command -v mpiexec.hydra)
if [ -n "$hydra" ]; then
    is "$($run -o out.h5 -- "$hydra" -n 2 ./show a : -n 1 ./show b 2>err | sort)" "a $seen 
a $seen 
b $seen " "hydra: each executable"
    is "$($run -o out.h5 -- "$hydra" -genv OTHER 7 -genvlist PATH -n 1 ./show a 2>err)" \
        "a $seen 7" "and where the user names what is handed on"
else
    skip 2 "no mpiexec.hydra"
fi
is "$($run -o out.h5 -- ./show a 2>err)" "a $seen " "a program without a launcher"

# srun as far as its options go: it hands on what --export names.
mkdir -p bin
cat >bin/srun <<'END'
#!/bin/sh
export=ALL
while :; do
    case $1 in
    --export=*) export=${1#--export=} ;;
    -n) shift ;;
    *) break ;;
    esac
    shift
done
case $export in
ALL,*) set -- $(echo "$export" | tr , '\n' | sed -n '/=/p') "$@" ;;
*) set -- -i "PATH=$PATH" ASAN_OPTIONS="${ASAN_OPTIONS-}" $(for name in $(echo "$export" | tr , ' '); do
        case $name in *=*) echo "$name" ;; *) eval "echo $name=\$$name" ;; esac
    done) "$@" ;;
esac
exec env "$@"
END
chmod +x bin/srun
under_srun() { # OPTION...
    PATH=$work/bin:$PATH OTHER=8 $run -o out.h5 -- srun "$@" -n 1 ./show a 2>err
}
is "$(under_srun)" "a $seen 8" "srun: with the whole environment"
is "$(under_srun --export=NONE)" "a $seen " "with none"
is "$(under_srun --export=OTHER)" "a $seen 8" "with a list"
finish
