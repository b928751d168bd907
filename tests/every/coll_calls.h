/* coll_calls.h - collectives in one of their three ways.
 *
 * The includer defines WAY, the name of the list of programs, and
 *
 *   COLLECT(Name, name, sent, received, arguments...)   a call that moves data
 *   MEET(comm)                                          a barrier
 */

#define N (64)

/* Each rank's block has another number of elements: 1 to 4. */
#define COUNTS     \
    {              \
        1, 2, 3, 4 \
    }
#define PLACES     \
    {              \
        0, 1, 3, 6 \
    }
#define ALL 10

PROGRAM(barriers)
{
    MEET(world);
    MEET(MPI_COMM_SELF);
}

/* Rank 2 is the root. What is not significant on the others is nothing that could be read. */
PROGRAM(from_a_root)
{
    int in[N] = {0}, out[N] = {0}, root = 2, leaf = me != root;
    const COUNT counts[RANKS] = COUNTS;
    const DISPL places[RANKS] = PLACES;
    MPI_Datatype type = leaf ? MPI_DATATYPE_NULL : MPI_INT;
    COLLECT(Bcast, bcast, leaf ? 0 : 12, leaf ? 12 : 0, in, 3, MPI_INT, root, world);
    COLLECT(Scatter, scatter, leaf ? 0 : 32, 8, leaf ? NULL : out, leaf ? -1 : 2, type, in, 2,
            MPI_INT, root, world);
    COLLECT(Scatterv, scatterv, leaf ? 0 : 40, 4 * (me + 1), leaf ? NULL : out,
            leaf ? NULL : counts, leaf ? NULL : places, type, in, me + 1, MPI_INT, root, world);
    if (leaf)
        COLLECT(Scatter, scatter, 0, 8, NULL, 0, type, in, 2, MPI_INT, root, world);
    else
        COLLECT(Scatter, scatter, 32, 0, out, 2, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root,
                world);
}

PROGRAM(to_a_root)
{
    int in[N] = {0}, out[N] = {0}, root = 2, leaf = me != root;
    const COUNT counts[RANKS] = COUNTS;
    const DISPL places[RANKS] = PLACES;
    MPI_Datatype type = leaf ? MPI_DATATYPE_NULL : MPI_INT;
    COLLECT(Reduce, reduce, 12, leaf ? 0 : 12, out, leaf ? NULL : in, 3, MPI_INT, MPI_SUM, root,
            world);
    COLLECT(Reduce, reduce, 12, leaf ? 0 : 12, leaf ? out : MPI_IN_PLACE, leaf ? NULL : in, 3,
            MPI_INT, MPI_SUM, root, world);
    COLLECT(Gather, gather, 8, leaf ? 0 : 32, out, 2, MPI_INT, leaf ? NULL : in, leaf ? -1 : 2,
            type, root, world);
    COLLECT(Gatherv, gatherv, 4 * (me + 1), leaf ? 0 : 40, out, me + 1, MPI_INT, leaf ? NULL : in,
            leaf ? NULL : counts, leaf ? NULL : places, type, root, world);
    if (leaf)
        COLLECT(Gather, gather, 8, 0, out, 2, MPI_INT, NULL, 0, type, root, world);
    else
        COLLECT(Gather, gather, 0, 32, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, root,
                world);
}

PROGRAM(reductions)
{
    int in[N] = {0}, out[N] = {0};
    const COUNT counts[RANKS] = COUNTS;
    COLLECT(Allreduce, allreduce, 12, 12, out, in, 3, MPI_INT, MPI_SUM, world);
    COLLECT(Allreduce, allreduce, 8, 8, MPI_IN_PLACE, in, 1, MPI_2INT, MPI_MAXLOC, world);
    COLLECT(Scan, scan, 12, 12, out, in, 3, MPI_INT, MPI_SUM, world);
    COLLECT(Exscan, exscan, 12, me ? 12 : 0, out, in, 3, MPI_INT, MPI_SUM, world);
    COLLECT(Reduce_scatter, reduce_scatter, 4 * ALL, 4 * (me + 1), out, in, counts, MPI_INT,
            MPI_SUM, world);
    COLLECT(Reduce_scatter_block, reduce_scatter_block, 32, 8, out, in, 2, MPI_INT, MPI_SUM, world);
}

PROGRAM(all_to_all)
{
    int in[N] = {0}, out[N] = {0};
    const COUNT counts[RANKS] = COUNTS, own[RANKS] = {me + 1, me + 1, me + 1, me + 1};
    const COUNT twos[RANKS] = {2, 2, 2, 2};
    const DISPL places[RANKS] = PLACES, apart[RANKS] = {0, 4, 8, 12},
                bytes[RANKS] = {0, 16, 32, 48};
    const MPI_Datatype types[RANKS] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    const MPI_Datatype mine[RANKS] = {types[me], types[me], types[me], types[me]};
    COLLECT(Allgather, allgather, 8, 32, out, 2, MPI_INT, in, 2, MPI_INT, world);
    COLLECT(Allgather, allgather, 8, 32, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, world);
    COLLECT(Allgatherv, allgatherv, 4 * (me + 1), 4 * ALL, out, me + 1, MPI_INT, in, counts, places,
            MPI_INT, world);
    COLLECT(Alltoall, alltoall, 32, 32, out, 2, MPI_INT, in, 2, MPI_INT, world);
    COLLECT(Alltoallv, alltoallv, 4 * ALL, 16 * (me + 1), out, counts, places, MPI_INT, in, own,
            apart, MPI_INT, world);
    /* Two of 1, 2, 4 and 8 bytes; two of this rank's from each. */
    COLLECT(Alltoallw, alltoallw, 30, 8 << me, out, twos, bytes, types, in, twos, bytes, mine,
            world);
}

/* Ranks 0 and 1 against 2 and 3. Rank 1 is the root. */
PROGRAM(two_groups)
{
    MPI_Comm half, both;
    int low = me < 2, in[N] = {0}, out[N] = {0};
    PMPI_Comm_split(world, low, me, &half);
    PMPI_Intercomm_create(half, 0, world, low ? 2 : 0, 5, &both);
    int root = !low ? 1 : me == 1 ? MPI_ROOT : MPI_PROC_NULL;
    MEET(both);
    COLLECT(Bcast, bcast, me == 1 ? 12 : 0, low ? 0 : 12, in, 3, MPI_INT, root, both);
    COLLECT(Reduce, reduce, low ? 0 : 12, me == 1 ? 12 : 0, out, in, 3, MPI_INT, MPI_SUM, root,
            both);
    COLLECT(Gather, gather, low ? 0 : 8, me == 1 ? 16 : 0, out, 2, MPI_INT, in, 2, MPI_INT, root,
            both);
    COLLECT(Scatter, scatter, me == 1 ? 16 : 0, low ? 0 : 8, out, 2, MPI_INT, in, 2, MPI_INT, root,
            both);
    COLLECT(Allreduce, allreduce, 12, 12, out, in, 3, MPI_INT, MPI_SUM, both);
    COLLECT(Allgather, allgather, low ? 4 : 8, low ? 16 : 8, out, low ? 1 : 2, MPI_INT, in,
            low ? 2 : 1, MPI_INT, both);
    COLLECT(Alltoall, alltoall, 16, 16, out, 2, MPI_INT, in, 2, MPI_INT, both);
    COLLECT(Reduce_scatter_block, reduce_scatter_block, 16, 8, out, in, 2, MPI_INT, MPI_SUM, both);
    PMPI_Comm_free(&both);
    PMPI_Comm_free(&half);
}

/* Ranks 0 to 2 against 3: blocks by rank of the other group, reductions by rank of the own. */
PROGRAM(uneven_groups)
{
    int in[N] = {0}, out[N] = {0}, low = me < 3, root = low ? 0 : MPI_ROOT;
    const COUNT counts[RANKS] = COUNTS, six[1] = {6};
    const COUNT threes[3] = {3, 3, 3};
    const DISPL places[RANKS] = PLACES, bytes[RANKS] = {0, 16, 32, 48};
    const MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Comm part, both;
    PMPI_Comm_split(world, low, me, &part);
    PMPI_Intercomm_create(part, 0, world, low ? 3 : 0, 5, &both);
    COLLECT(Gatherv, gatherv, low ? 4 * (me + 1) : 0, low ? 0 : 24, out, me + 1, MPI_INT, in,
            counts, places, MPI_INT, root, both);
    COLLECT(Scatterv, scatterv, low ? 0 : 24, low ? 4 * (me + 1) : 0, out, counts, places, MPI_INT,
            in, me + 1, MPI_INT, root, both);
    COLLECT(Allgatherv, allgatherv, low ? 4 * (me + 1) : 24, 24, out, low ? me + 1 : 6, MPI_INT, in,
            low ? six : counts, places, MPI_INT, both);
    COLLECT(Alltoallv, alltoallv, low ? 12 : 36, low ? 12 : 36, out, threes, places, MPI_INT, in,
            threes, places, MPI_INT, both);
    COLLECT(Alltoallw, alltoallw, low ? 12 : 36, low ? 12 : 36, out, threes, bytes, types, in,
            threes, bytes, types, both);
    COLLECT(Reduce_scatter, reduce_scatter, 24, low ? 4 * (me + 1) : 24, out, in,
            low ? counts : six, MPI_INT, MPI_SUM, both);
    PMPI_Comm_free(&both);
    PMPI_Comm_free(&part);
}

/* Four in a row: the ends have one neighbour each. */
PROGRAM(neighbours_in_a_row)
{
    const int sizes[1] = {RANKS}, ring[1] = {0};
    int in[N] = {0}, out[N] = {0}, ends = me == 0 || me == RANKS - 1, beside = ends ? 1 : 2;
    const COUNT ones[2] = {1, 1}, counts[2] = {me, me + 1}, from[2] = {me, me + 1};
    const DISPL places[2] = {0, 8};
    const MPI_Aint bytes[2] = {0, 32};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Comm row;
    PMPI_Cart_create(world, 1, sizes, ring, 0, &row);
    COLLECT(Neighbor_allgather, neighbor_allgather, 8, 8 * beside, out, 2, MPI_INT, in, 2, MPI_INT,
            row);
    COLLECT(Neighbor_alltoall, neighbor_alltoall, 8 * beside, 8 * beside, out, 2, MPI_INT, in, 2,
            MPI_INT, row);
    /* Between ranks r and r + 1 there are r + 1 numbers each way. */
    int numbers = me == 0 ? 1 : me == RANKS - 1 ? me : 2 * me + 1;
    COLLECT(Neighbor_alltoallv, neighbor_alltoallv, 4 * numbers, 4 * numbers, out, counts, places,
            MPI_INT, in, from, places, MPI_INT, row);
    COLLECT(Neighbor_allgatherv, neighbor_allgatherv, 4, 4 * beside, out, 1, MPI_INT, in, ones,
            places, MPI_INT, row);
    COLLECT(Neighbor_alltoallw, neighbor_alltoallw, 4 * numbers, 4 * numbers, out, counts, bytes,
            types, in, from, bytes, types, row);
    PMPI_Comm_free(&row);
}

/* Rank 0 sends to the three others; nobody else sends. */
PROGRAM(neighbours_of_one)
{
    int in[N] = {0}, out[N] = {0};
    const int from = 0, to[3] = {1, 2, 3}, weights[3] = {1, 1, 1};
    const COUNT counts[3] = {1, 2, 3}, count[1] = {me}, twos[1] = {2};
    const DISPL places[3] = {0, 1, 3};
    const MPI_Aint bytes[3] = {0, 8, 16};
    const MPI_Datatype types[3] = {MPI_CHAR, MPI_SHORT, MPI_INT};
    const MPI_Datatype mine[1] = {types[me ? me - 1 : 0]};
    MPI_Comm graph;
    PMPI_Dist_graph_create_adjacent(world, me ? 1 : 0, &from, weights, me ? 0 : 3, to, weights,
                                    MPI_INFO_NULL, 0, &graph);
    COLLECT(Neighbor_allgather, neighbor_allgather, me ? 0 : 4, me ? 4 : 0, out, 1, MPI_INT, in, 1,
            MPI_INT, graph);
    COLLECT(Neighbor_allgatherv, neighbor_allgatherv, me ? 0 : 8, me ? 8 : 0, out, 2, MPI_INT, in,
            twos, places, MPI_INT, graph);
    COLLECT(Neighbor_alltoallv, neighbor_alltoallv, me ? 0 : 24, 4 * me, out, counts, places,
            MPI_INT, in, count, places, MPI_INT, graph);
    COLLECT(Neighbor_alltoallw, neighbor_alltoallw, me ? 0 : 1 + 2 * 2 + 3 * 4,
            me == 0   ? 0
            : me == 1 ? 1
            : me == 2 ? 4
                      : 12,
            out, counts, bytes, types, in, count, bytes, mine, graph);
    PMPI_Comm_free(&graph);
}

/* Rank 0 has three neighbours, the others have it. */
PROGRAM(neighbours_in_a_star)
{
    int in[N] = {0}, out[N] = {0}, beside = me ? 1 : 3;
    const int ends[RANKS] = {3, 4, 5, 6}, edges[6] = {1, 2, 3, 0, 0, 0};
    MPI_Comm star;
    PMPI_Graph_create(world, RANKS, ends, edges, 0, &star);
    COLLECT(Neighbor_allgather, neighbor_allgather, 4, 4 * beside, out, 1, MPI_INT, in, 1, MPI_INT,
            star);
    COLLECT(Neighbor_alltoall, neighbor_alltoall, 8 * beside, 8 * beside, out, 2, MPI_INT, in, 2,
            MPI_INT, star);
    PMPI_Comm_free(&star);
}

PROGRAMS(WAY) = {
    P(barriers),          P(from_a_root),          P(to_a_root),     P(reductions),
    P(all_to_all),        P(two_groups),           P(uneven_groups), P(neighbours_in_a_row),
    P(neighbours_of_one), P(neighbours_in_a_star), {NULL, NULL},
};
