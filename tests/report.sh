#!/bin/sh
# What `rankclock report` and `rankclock info` print of files whose numbers are known, and what
# they make of files that are none.
set -u

. "$top_srcdir/tests/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

utf8=$(locale -a 2>/dev/null | grep -iE '^(C|en_US)\.utf-?8$' | head -n 1)
LC_ALL=C
export LC_ALL

for what in plain odd many gpu many_gpu startup mpi full sync odd_mpi; do
    "$top_builddir/tests/report_file" "$what" "$what.h5" || bail "cannot make $what.h5"
done
"$top_builddir/tests/make_file" stencil.h5 4 >made || bail "cannot make stencil.h5"
"$top_builddir/tests/make_file" --gpu gpu4.h5 4 >made || bail "cannot make gpu4.h5"
"$top_builddir/tests/make_file" partial.h5 32 12 30 >made || bail "cannot make partial.h5"
"$top_builddir/tests/make_file" wide.h5 20000 >made || bail "cannot make wide.h5"

# A row of a report whose first words are NAME, runs of blanks as one: row FILE NAME [OPTION]...
row() {
    row_file=$1 row_name=$2
    shift 2
    "$RKC_COMMAND" report "$@" "$row_file" 2>&1 | tr -s ' ' | sed 's/^ //' |
        grep -F -- "$row_name" | head -n 1
}

# --- the numbers ---

is "$(row stencil.h5 rankclock | sed 's/rankclock [^ ]*/rankclock/')" \
    "rankclock ./stencil --size 4096 --steps 100 COMPLETE (4/4 ranks)" \
    "the first line has the command, the status and the ranks"
is "$(row stencil.h5 Parallel)" "Parallel 0.82 0.85 0.88 0.01 0.29" \
    "parallel efficiency of the run and the top regions: 4832 / (4 x 1465), ..."
is "$(row stencil.h5 'Load balance')" "Load balance 0.90 0.89 0.88 1.00 1.00" \
    "load balance: 1208 / 1343, ..."
is "$(row stencil.h5 Communication)" "Communication 0.92 0.96 1.00 0.01 0.29" \
    "communication: 1343 / 1465, ..."
is "$(row stencil.h5 'elapsed s')" "elapsed s, most of a rank 1.465 1.384 1.300 0.341 0.035" \
    "elapsed time of the run leaves MPI_Init out"
is "$(row stencil.h5 EFFICIENCY)" "EFFICIENCY, ranks x elapsed run step compute halo dot" \
    "the regions with most time have their efficiencies, in the order of the tree"
is "$("$RKC_COMMAND" report stencil.h5 | grep -E '^ *(step|compute|output) ' | tr -s ' ')" \
    "step 1.384 85.7 0.008 0.211 1.13 r3 400 4/4
 compute 1.150 71.2 1.150 0.000 1.13 r3 400 4/4
output 0.015 0.9 0.015 0.000 4.00 r0 1 1/4" \
    "regions are a tree with inclusive, exclusive, MPI time, imbalance, slowest rank, visits, ranks"
is "$(row stencil.h5 'step/halo Irecv')" \
    "step/halo Irecv 0.002 0.1 - - - r0 0.180 800 52.4MB 64KiB 64KiB 0.07" \
    "a nonblocking receive has its bytes, the time blocked for it, and a rate by time in flight"
is "$(row stencil.h5 'step/halo Waitall')" "step/halo Waitall 0.180 11.1 - - - r0 - 400 - - - -" \
    "a wait has its time and longest rank, and - for what it has not"
like "$(row stencil.h5 VERDICT)" "load imbalance, 9.2 % of ranks x elapsed; r3 (node001)" \
    "the verdict names the slow rank and its node"
like "$("$RKC_COMMAND" report stencil.h5 | grep -A1 VERDICT)" "most of it in step/compute" \
    "and the innermost region where the imbalance arises"
like "$(row stencil.h5 N1)" 'N1 3 region ends ignored.*(region "halo", first on r1)' \
    "a note has its count, region and rank"

like "$(row partial.h5 rankclock)" 'PARTIAL (30/32 ranks; missing 30-31)$' \
    "a partial file says which ranks are missing, in its first line"
is "$("$RKC_COMMAND" report partial.h5 | sed -n 2p)" \
    "AT END   30 ranks in step/halo/MPI_Waitall until 22:13:21 UTC: r0-r29 on 15 nodes" \
    "and, in the second, where the others were, and until when"
like "$(row odd.h5 rankclock)" 'ABORTED (2/2 ranks; r1 got SIGKILL)$' \
    "an aborted one which rank died"
like "$("$RKC_COMMAND" report odd.h5 | grep '^sampled' | tr -s ' ')" 'sampled ~0.250 12.5 0.250' \
    "a sampled region is extrapolated by visits / timed visits, and marked"
like "$("$RKC_COMMAND" report odd.h5 | grep -E '^threads x4' | tr -s ' ')" 'x4 0.750 37.5' \
    "a region of several threads shows the slowest one's time and how many there are"
is "$(row odd.h5 Parallel)" "Parallel 0.70 - 1.00 1.00 1.00 1.00" \
    "and no efficiency"
like "$("$RKC_COMMAND" report odd.h5 | grep -E '^ranks ' | tr -s ' ')" '2/2 2/2 1/2' \
    "columns of fewer ranks say of how many"

is "$(row plain.h5 '(run) Send')" "(run) Send 0.200 20.0 r0 - 200 1.64MB 8KiB 8KiB <.01" \
    "a program without regions has its MPI calls"
like "$("$RKC_COMMAND" report plain.h5 | tr -s ' \n' ' ')" "main loss: MPI, in which even the rank that \
computes most spends 44.4 % of elapsed; costliest: MPI_Barrier (25.0 % of wall) " \
    "the verdict is MPI where communication loses most"
like "$(row plain.h5 'Open MPI')" '^Open MPI v9.9 | tool overhead 0.0 %' \
    "of the MPI library its name and version, without who built it"
like "$(row startup.h5 W1)" "MPI_Init took 0.600 s per rank, 60.0 % of wall" "W1: a long MPI_Init"
like "$(row startup.h5 W2)" "tool overhead is 5.0 % of wall" "W2: a costly tool"
like "$(row startup.h5 W4)" "^W4 MPI_[A-Za-z]*: 2000 messages of 96B on average cost 20.0 % of wall" \
    "W4: small messages"
like "$(row many.h5 VERDICT)" "computation dominates: 98.9 %" "a good run is called one"

# --- where the ranks were ---

is "$("$RKC_COMMAND" report --where partial.h5 | sed -n '/^WHERE/,$p')" \
    "WHERE the ranks were when measuring ended, and until when that was (UTC)
      2  missing: nothing is known of them
         r30-r31
     30  in step/halo/MPI_Waitall, until 22:13:21
         r0-r29 on 15 nodes: node000, node001, node002, node003 and 11 more" \
    "--where: the ranks that are missing, and the others by where they were"
is "$("$RKC_COMMAND" report --where stencil.h5 | sed -n '/^WHERE/,$p')" \
    "WHERE the ranks were when measuring ended, and until when that was (UTC): all came to the end
      4  finalized, until 22:13:21
         r0-r3 on 2 nodes: node000, node001" "of a complete file that all came to the end"
is "$("$RKC_COMMAND" report --where odd.h5 | sed -n '/^WHERE/,$p' | tail -n +2)" \
    "      1  got SIGKILL in threads/MPI_Waitall, until 10:02:00
         r1 on secret1
      1  finalized, until 10:02:00
         r0 on secret0" "what failed comes first, with its signal"
"$RKC_COMMAND" report --where wide.h5 >out
is "$(wc -l <out)" 7 "20,000 ranks are a few lines"

# --- devices ---

is "$("$RKC_COMMAND" report stencil.h5 | grep -cE 'GPU|H200|cuda')" 0 "without device time nothing is said of it"
like "$(row gpu.h5 2026)" '1 node, 2 ranks, 2 NVIDIA H200$' "the devices are counted, by product"
like "$(row gpu.h5 'Open MPI')" '^Open MPI v9.9, cuda 12.8 | tool' "with the driver's version"
like "$(row gpu.h5 'VERDICT' --width 200)" '(25.0 % of wall); GPU regions cover 6.7 % of wall$' \
    "the verdict says how much of the wall time device time covers: 200 / 3000"
is "$("$RKC_COMMAND" report gpu.h5 | grep -A3 '^GPU ' | tr -s ' ')" \
    "GPU 2/2 ranks use one: coverage of wall 0.07 mean, 0.05 least (r1) | GPU balance 0.67
 launch lag 20.0 us | host offload 0.90 | GPU wait s 0.100 | GPU idle -
 shared by ranks: secret0 GPU-shared r0-r1" \
    "coverage, balance 100 / 150, lag, offload 1800 / 2000, wait (1000 - 200 - 600) / 2, sharing"
is "$("$RKC_COMMAND" report gpu.h5 | grep -E '^ *(.run. +1.000|kernel|copy) ' | tr -s ' ')" \
    "(run) 1.000 100.0 0.000 0.250 - - 1.08 r1 2 2/2
kernel 0.600 60.0 0.550 0.000 0.080 80.0 1.20 r1 200 2/2
 copy 0.050 5.0 0.050 0.000 0.020 20.0 2.00 r0 10 1/2" \
    "regions have device time and its share; those that are no GPU regions have none"
like "$("$RKC_COMMAND" report -w 80 gpu.h5)" '^REGIONS .*wall s % wall *MPI s *GPU s imbal' \
    "a narrow page leaves out other columns"
like "$(row gpu4.h5 'launch lag')" 'launch lag 12.0 us | host offload - | GPU wait s - | GPU idle -' \
    "what is not known is -"
like "$(row gpu4.h5 'shared by')" 'node000 0000:3b:00.0 r0-r1; node001 0000:3b:00.0 r2-r3$' \
    "devices are told apart by node"
like "$(row gpu.h5 W5)" '^W5 2 ranks share one GPU: r0-r1 on secret0 GPU-shared$' "W5: sharing"
like "$(row gpu.h5 W6)" 'device time covers 6.7 % of wall' "W6: low coverage"
like "$(row gpu.h5 W7)" '5 of 210 visits of GPU regions have no device time; of 3: captured' \
    "W7: visits without device time"
is "$(row gpu4.h5 W6)$(row gpu4.h5 W7)$(row gpu4.h5 W8)" "" "none of them where it is not so"
like "$(row plain.h5 W8)" 'GPU regions have host times alone: the program has not loaded libcuda' \
    "W8: no driver for GPU regions"
like "$("$RKC_COMMAND" report --ranks gpu.h5 | tr -s ' ')" ' 0 secret0 .* 0.160 finalized' \
    "--ranks has the device time of each"
like "$("$RKC_COMMAND" report --region kernel -w 200 gpu.h5)" \
    '195 visits, mean 0.000821 s, launch lag 0.000020 s; 3 not timed: captured into a graph; 2 not' \
    "--region that of one visit, the lag, and what is missing"
like "$("$RKC_COMMAND" info gpu.h5)" 'NVIDIA H200 on secret0, GPU-shared: r0 and 1 more' \
    "info lists the devices"
"$RKC_COMMAND" info --redact gpu.h5 >out
is "$(grep -cE 'secret|GPU-' out) $(grep -c 'NVIDIA H200: r0' out) $(grep -c '570.86' out)" "0 2 1" \
    "and with --redact neither UUIDs nor hosts"

# --- what MPI moved, and who waited ---

is "$(row mpi.h5 'MPI mean/rank')" \
    "MPI mean/rank call kind time s %wall wait>= for xfer<= blocked calls bytes mean p50>= GB/s" \
    "kinds, waits and blocked time have columns where there are some"
is "$(row mpi.h5 'solve Allreduce')" \
    "solve Allreduce HH 0.330 33.0 0.300 r3 0.030 - 400 6.40kB 8B 8B -" \
    "waiting is 3 x 0.430 + 0.030 - 4 x 0.030, per rank, for the rank with the least"
is "$(row mpi.h5 'solve Barrier')" "solve Barrier - 0.020 2.0 - - - - 40 - - - -" \
    "and - where not all have called equally often"
is "$("$RKC_COMMAND" report mpi.h5 | grep '^halo .*Isend' | tr -s ' ')" \
    "halo Isend D- 0.007 0.8 - - - 0.002 3500 34.3MB 9.57KiB 512B 0.21
halo Isend H- 0.003 0.2 - - - 0.003 500 32.8MB 64KiB 64KiB 0.82" \
    "a call path has a row for each pair of kinds, the host's being the rest; devices are one"
is "$(row mpi.h5 'halo Irecv')" "halo Irecv -M 0.002 0.2 - - - - 1000 65.5MB 64KiB 64KiB -" \
    "of one pair of kinds it has the numbers of the call path"
is "$(row mpi.h5 'BY KIND')" \
    "BY KIND -M 49.4 %, D- 25.9 %, H- 24.7 %, HH <.1 % of 133MB sent + received" \
    "bytes by kind: 65.5, 34.3, 32.8 of 132.6 MB"
is "$(row mpi.h5 'TOP PAIRS')" "TOP PAIRS r0->r2 4MB (secret0->secret1) | of 10MB, 70.0 % between nodes" \
    "the pair with most bytes, its nodes, and how much goes from node to node"
like "$("$RKC_COMMAND" report -w 200 mpi.h5)" \
    'r0->r2 4MB (secret0->secret1), r3->r0 3MB (secret1->secret0), r0->r1 1MB |' \
    "what both ends counted of a pair is one"
like "$("$RKC_COMMAND" report -w 200 mpi.h5)" \
    'VERDICT  main loss: waiting for r3 (secret1) in solve/MPI_Allreduce (>= 30.0 % of wall); it computes 1.60 x the mean, most of it in work; GPU' \
    "V4: waiting for one rank is more than half of what is lost: 1.2 of 2 s"
like "$(row mpi.h5 'Open MPI')" '^Open MPI v9.9 (GPU-aware: no), MPI 3.1 | tool' \
    "whether the MPI is GPU-aware; a line that is too long goes without the thread level"
like "$("$RKC_COMMAND" report -w 120 mpi.h5)" '(GPU-aware: no), MPI 3.1, MPI_THREAD_SINGLE | tool' \
    "a longer one has it"
like "$("$RKC_COMMAND" report mpi.h5)" '^         5 more (--all)$' "warnings left out are counted"

warning() {
    row mpi.h5 "$1" --all --width 300
}
is "$(warning 'W9 ')" "W9 85.7 % of 3500 messages from or to device memory are < 1 KiB, most in halo/MPI_Isend: aggregate per neighbour" \
    "W9: small device messages"
is "$(warning W10)" "W10 400 of 500 operations of halo/MPI_Isend on device memory have a datatype with gaps: pack them on the device" \
    "W10: datatypes with gaps"
is "$(warning W11)" "W11 49.4 % of 133MB that MPI moved is managed memory, most in halo/MPI_Irecv: MPI lacks fast paths for it" \
    "W11: managed memory"
is "$(warning W12)" "W12 3500 operations on device memory, and MPI says that it is not GPU-aware: they may be staged through the host" \
    "W12: device memory and an MPI that does not know it"
is "$(warning W13)" "W13 1 rank is far from its GPU: r0 (secret0) on NUMA node 0, secret0 GPU-far at node 1: bind near it" \
    "W13: ranks far from their devices"
is "$(warning W15)" "W15 other tools in the program, whose cost is in the times: libmpiP.so" "W15: other tools"
is "$(warning W16)" "W16 7 messages, 2MB (20.0 % of all bytes), are not told apart by rank; most of r1 (secret0) (RANKCLOCK_MATRIX_PEERS)" \
    "W16: messages that are not told apart"
is "$(warning W14)$(warning W17)" "" "and none that does not hold"
is "$(row stencil.h5 W9)$(row stencil.h5 W12)$(row stencil.h5 W16)" "" "nor in a run of host memory"

is "$(for width in 80 89 95 104 112; do
    "$RKC_COMMAND" report --width $width odd_mpi.h5 | grep -c '^MPI  *mean/rank '
done | sort -u)" 1 "the head of the calls is whole at all widths, as long as names can give way"
is "$(for width in 84 86 88 95; do
    "$RKC_COMMAND" report --width $width odd_mpi.h5 | awk '$1 == "(run)" && $2 ~ /^Star/ {
        print (length($2) >= 14) }'
done | sort -u)" 1 "columns of numbers are left out before a call loses its name"
is "$(row sync.h5 'MPI mean/rank')" \
    "MPI mean/rank call time s %wall wait for xfer most blocked calls bytes mean p50>= GB/s" \
    "with RANKCLOCK_MPI_SYNC waiting is no bound"
is "$(row sync.h5 '(run) Allreduce')" "(run) Allreduce 0.105 10.5 0.075 r0 0.030 r1 - 20 - - - -" \
    "but what the barriers took: (20 + 130) / 2"
is "$(row sync.h5 '(run) Bcast')" "(run) Bcast 0.045 4.5 0.020 r1 0.025 r1 - 20 - - - -" \
    "of rooted collectives, too"
like "$(row sync.h5 W14)" '^W14 RANKCLOCK_MPI_SYNC changed' "W14: a setting that perturbs"
is "$(row sync.h5 W17)" "W17 waiting for r0 (secret0) in MPI_Allreduce (7.5 % of wall)" \
    "W17: waiting that is not the main loss: 150 / 2000"
like "$(row sync.h5 'Open MPI')" '(GPU-aware: unknown)' "an MPI that does not say whether it is GPU-aware"

# A file of a schema without them has the form that it had.
old=$top_srcdir/tests/golden/schema-1.1.h5
is "$(row "$old" 'MPI mean/rank')" \
    "MPI mean/rank call time s %wall most blocked calls bytes mean p50>= GB/s" \
    "a file of schema 1.1 has no kinds, no waits"
is "$("$RKC_COMMAND" report "$old" | grep -cE '^(BY KIND|TOP PAIRS)|GPU-aware')" 0 "and no lines of them"
like "$("$RKC_COMMAND" report --matrix "$old")" '^no messages between ranks were counted' \
    "nor a matrix"

"$RKC_COMMAND" report --matrix mpi.h5 >out
like "$(tr '\n' ' ' <out)" '172 messages, 10MB: inside nodes 1MB, 10.0 % of bytes; between nodes 7MB, 70.0 % of bytes; others 2MB, 20.0 % of bytes others: ranks of other worlds, and those beyond a rank.s first RANKCLOCK_MATRIX_PEERS; 1 row, most bytes of r1 (secret0)' \
    "--matrix sums up what stays on a node, and what is not told apart"
is "$(sed -n '/^PAIRS/,$p' out | tr -s ' ' | sed 's/^ //')" \
    "PAIRS from node to node messages bytes mean % bytes
r0 secret0 r2 secret1 50 4MB 78.1KiB 40.0
r3 secret1 r0 secret0 15 3MB 195KiB 30.0
r1 secret0 others - 7 2MB 279KiB 20.0
r0 secret0 r1 secret0 100 1MB 9.77KiB 10.0

RANKS node targets sent bytes sent received bytes recv % other nodes
r0 secret0 2 150 5MB 15 3MB 87.5
r2 secret1 0 0 0B 50 4MB 100.0
r1 secret0 1 7 2MB 100 1MB 0.0
r3 secret1 2 15 3MB 0 0B 100.0" \
    "and has pairs and ranks, most bytes first"
"$RKC_COMMAND" report --matrix wide.h5 >out
is "$(awk 'length > 100' out | wc -l) $(awk 'END { print NR <= 40 }' out)" "0 1" \
    "of 20000 ranks on one page"
like "$(cat out)" '[0-9] more, 6.55MB or less each (--all)$' "saying how many pairs it leaves out"
is "$("$RKC_COMMAND" report --matrix --all wide.h5 | grep -c 6.55MB)" 40000 "--all shows each"

is "$(row mpi.h5 '3 secret1' --ranks)" "3 secret1 0 1 1.000 0.000 0.200 0.800 80.0 1.200 - finalized -" \
    "--ranks has how long the others waited for each"
"$RKC_COMMAND" report --region solve mpi.h5 >out
like "$(tr -s ' ' <out)" 'solve/MPI_Allreduce 4 of r0.. all 100 1.320 0.030 0.430 1.200 90.9 r3 (secret1)' \
    "--region has the communicators, their times, and who was awaited"
like "$(tr -s ' ' <out)" 'solve/MPI_Barrier 2 of r0.. all 10 0.040 0.020 0.020 - - -' \
    "or that it is not known"
"$RKC_COMMAND" report --region halo mpi.h5 >out
like "$(tr -s ' ' <out)" 'halo/MPI_Isend device none 1 500 32.8MB 64KiB 64KiB 0.020 0.004 0.060 400' \
    "and what was moved from which device, and how many datatypes had gaps"
like "$(tr -s ' ' <out)" 'halo/MPI_Isend host none - 500 32.8MB 64KiB 64KiB 0.010 0.012 0.040 -' \
    "beside the host's rest"
"$RKC_COMMAND" info --redact mpi.h5 >out
is "$(grep -cE 'secret|GPU-far' out) $(grep -cE '^  MPI waits  *2 rows|^  MPI matrix  *5 pairs|^  gpu_aware  *no' out)" "0 3" \
    "info --redact counts the rows and names none"

# --- the form ---

for file in stencil partial odd many plain startup wide gpu many_gpu gpu4 mpi full sync odd_mpi; do
    "$RKC_COMMAND" report $file.h5 >$file.txt 2>&1
    is "$(awk 'END { print NR <= 40 }' $file.txt)" 1 "$file: at most 40 lines"
    is "$(awk 'length > 100' $file.txt)" "" "$file: at most 100 columns"
    is "$(grep -c '[^ -~]' $file.txt)" 0 "$file: plain ASCII outside of UTF-8, and no colour"
    is "$(grep -c ' $' $file.txt)" 0 "$file: no blanks at the end of a line"
done
like "$(grep '^step ' wide.txt)" ' r19999 *2M  20000/20000$' \
    "columns of ranks grow with their number"
is "$("$RKC_COMMAND" report --all many.h5 | grep -c 'Call_')" 300 "--all shows every row"
like "$("$RKC_COMMAND" report many.h5)" '295 more, 43.9 % of wall or less each (--all)' \
    "without it what is left out is counted and bounded"
for option in --matrix --ranks '--region MPI_Allreduce' '--all --region (run)'; do
    # shellcheck disable=SC2086
    "$RKC_COMMAND" report $option odd_mpi.h5 >out 2>&1
    is "$? $(awk 'length > 100' out)$(grep -c '[^ -~]' out)" "0 0" "odd_mpi $option: ASCII, 100 columns"
done
if [ -n "$utf8" ]; then
    like "$(LC_ALL=$utf8 "$RKC_COMMAND" report mpi.h5)" '(≥ 30.0 % of wall)' "in UTF-8 a bound has its sign"
    LC_ALL=$utf8 "$RKC_COMMAND" report odd.h5 >odd_utf8.txt
    like "$(cat odd_utf8.txt)" 'größe' "in UTF-8 names keep their letters"
    like "$(cat odd_utf8.txt)" 'x…x.*xlast ' "a long one is shortened with an ellipsis"
    is "$(grep -c "$(printf '\342\200\256')" odd_utf8.txt)" 0 "and none turns the text around"
    is "$(tr -d '\200-\277' <odd_utf8.txt | awk 'length > 100')" "" "in at most 100 columns"
else
    skip 5 "no UTF-8 locale"
fi

# --- details ---

"$RKC_COMMAND" report --region halo stencil.h5 >out
like "$(cat out)" 'step/halo *user, stencil.c:52, 4/4 ranks' \
    "--region finds a region by name, with its place in the source"
like "$(row stencil.h5 'inclusive s' --region step/halo)" \
    '^inclusive s 0.764 0.191 0.112 0.041 r3 0.341 r0$' \
    "or a call path, with sum, mean, deviation, least and most over ranks"
like "$(row stencil.h5 'most useful' --region compute)" 'r3 node001 1.300, r2 node001 1.200' \
    "and its slowest ranks"
like "$(row stencil.h5 'bytes received' --region MPI_Irecv)" '^bytes received 52.4MB 13.1MB' \
    "MPI functions as well"
"$RKC_COMMAND" report --region nothing stencil.h5 >out 2>err
is "$? $(cat out) $(wc -l <err)" "2  1" "a region that is not there is one line and status 2"
"$RKC_COMMAND" report --ranks stencil.h5 >out
is "$(grep -c 'finalized' out)" 4 "--ranks has a row for each"
like "$(grep finalized out | head -n 1 | tr -s ' ')" \
    '^ 3 node001 1 1 1.615 0.150 0.272 1.343 83.2 0.000 finalized -$' "the one that computes most first"
"$RKC_COMMAND" report --explain >out
for rule in V1 V2 V3 V4 V5 V6 W1 W2 W3 W4 W5 W6 W7 W8 W9 W10 W11 W12 W13 W14 W15 W16 W17; do
    is "$(grep -c "^  $rule " out)" 1 "--explain has rule $rule"
done
for word in Parallel 'Load balance' Communication 'wall s' 'excl s' 'MPI s' imbal slow visits \
    'GPU s' %GPU coverage 'GPU balance' 'launch lag' 'GPU wait' offload 'GPU idle' \
    'time s' most blocked calls bytes GB/s host pinned device managed unknown \
    kind 'wait>=' for 'xfer<=' 'BY KIND' 'TOP PAIRS' others 'awaited s>=' gaps; do
    is "$(grep -c "^  $word  *[^ ]" out)" 1 "--explain has $word"
done
# The wrappers' rows that move data, without those that the MPI lacks.
# shellcheck disable=SC2046 # names without blanks
moving=$(awk 'NR == FNR { have[$2] = $1 == "#define"; next }
        /^#ifdef/ { skip = !have[$2]; next } /^#endif/ { skip = 0; next } !skip' \
    "$top_builddir/autoconf.h" \
    $(sed -n "s,^#include \"\(.*\)\"$,$top_srcdir/pmpi/\\1,p" "$top_srcdir/pmpi/mpi_calls.def") | tr '\n' ' ' |
    sed 's/\(CALL\|COLLECTIVE\)\(_C\)\?(/\n&/g' | grep -E '(MOVES|POSTS|PLANS)\(' |
    sed 's/^[A-Z_]*(\([A-Za-z_]*\).*/\1/' | sort -u)
sed -n '/^BYTES/,/^RULES/p' out | tr -cs 'A-Za-z_' '\n' >said
missing=$(for name in $moving; do grep -qx "$name" said || echo "$name"; done)
is "$missing" "" "--explain has each function that moves data among the bytes"
like "$(printf '%s\n' $moving | wc -l)" '^ *[12][0-9][0-9]$' "of which there are more than a hundred"
like "$(tr -s ' \n' ' ' <out)" 'sent: the block; in place nothing; received: root: n blocks Gather, Gatherv' \
    "each function with its own"

like "$("$RKC_COMMAND" info stencil.h5)" 'schema  *1\.2' "info has the schema"
like "$("$RKC_COMMAND" info stencil.h5)" 'command  *./stencil --size 4096' "the job"
like "$("$RKC_COMMAND" info stencil.h5)" 'call paths  *12' "and what the file holds"
"$RKC_COMMAND" info --redact "$work/odd.h5" >out
is "$(grep -cE "secret|solver|somewhere|$work" out)" 0 \
    "info --redact hides command line, hosts, who built the MPI, and paths"
like "$(cat out)" 'Open MPI v9.9' "and shows the rest"

# --- files that are none ---

# One line on stderr, nothing on stdout, status 2: refuses FILE DESCRIPTION
refuses() {
    for tool in report info; do
        "$RKC_COMMAND" $tool "$1" >out 2>err
        is "$? $(wc -c <out) $(wc -l <err)" "2 0 1" "$tool: $2"
    done
}
refuses nowhere.h5 "a file that is not there"
refuses . "a folder"
: >empty.h5
refuses empty.h5 "an empty file"
echo 'not a result' >text.h5
refuses text.h5 "a text"
size=$(wc -c <stencil.h5)
for part in 10 50 90; do
    head -c $((size * part / 100)) stencil.h5 >cut.h5
    refuses cut.h5 "the first $part % of a file"
done
if [ -n "$PYTHON" ]; then
    cp stencil.h5 newer.h5
    cp stencil.h5 other.h5
    cp stencil.h5 wrong.h5
    "$top_builddir/tests/make_file" places.h5 10000 200 9999 >made || bail "cannot make places.h5"
    "$PYTHON" - <<'END' || bail "h5py failed"
import h5py, numpy
with h5py.File("newer.h5", "r+") as f:
    f.attrs["rankclock_schema"] = numpy.bytes_("2.0")
with h5py.File("other.h5", "r+") as f:
    del f.attrs["rankclock_schema"]
with h5py.File("wrong.h5", "r+") as f:
    f["callpaths/parent"][5] = 1000000
with h5py.File("places.h5", "r+") as f:
    f["ranks/open_callpath"][...] = numpy.arange(9999) % 150 - 1
    f["ranks/measured_until_unix_ns"][::300] += 10**14
END
    "$RKC_COMMAND" report --where places.h5 >out
    is "$(wc -l <out) $(awk 'length($0) > 100' out | wc -l) $(grep -c '[0-9] places between' out)" "38 0 1" \
        "10,000 ranks in 150 places are one screen"
    like "$(cat out)" '^         r1, r151, r301, r451 and 63 more on 67 nodes: node000, node075, node1050 and 64 more$' \
        "with the first ranks and nodes of each"
    like "$(cat out)" 'until 22:13:21 to 2023-11-16 02:00:01$' "and a day where it is another"
    is "$("$RKC_COMMAND" report --where --all places.h5 | grep -c '^ *6[67]  ')" 150 "--all has all places"
    is "$("$RKC_COMMAND" report places.h5 | awk 'END { print NR <= 40 }')" 1 "and the report keeps to its screen"
    refuses newer.h5 "a newer major schema"
    like "$(cat err)" 'newer' "and says so"
    refuses other.h5 "an HDF5 file of another program"
    refuses wrong.h5 "a call path whose parent is not there"
else
    skip 12 "no Python with h5py"
fi

# A changed byte may do no harm, or make the file unreadable, and nothing else.
crashed=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    cp stencil.h5 flipped.h5
    printf '\377' | dd of=flipped.h5 bs=1 seek=$((size * i / 23 + 7 * i)) conv=notrunc 2>/dev/null
    "$RKC_COMMAND" report flipped.h5 >out 2>err
    case $? in
    0 | 2) ;;
    *) crashed=$((crashed + 1)) ;;
    esac
done
is $crashed 0 "20 files with a changed byte: a report or status 2"

# --- the command ---

"$RKC_COMMAND" repot >out 2>err
is "$? $(cat err)" '2 rankclock: no subcommand "repot": did you mean "report"?' \
    "a misspelt subcommand is told the right one"
"$RKC_COMMAND" report stencil.h5 >/dev/full 2>err
is "$? $(wc -l <err)" "1 1" "output that cannot be written is an error"
for tool in run report info config recover; do
    "$RKC_COMMAND" $tool --help >out 2>err
    is "$? $(wc -c <err) $(head -n 1 out | cut -c1-17)" "0 0 usage: rankclock " "$tool --help"
    "$RKC_COMMAND" $tool --nonsense >out 2>err
    is "$? $(wc -l <err)" "2 1" "$tool: an unknown option is one line and status 2"
done
RANKCLOCK_ROWS=some RANKCLOCK_OUPUT=x "$RKC_COMMAND" config >out 2>&1
is "$? $(grep -c '^!' out)" "1 2" "config marks a malformed value and an unknown variable"
finish
