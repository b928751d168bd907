/* comm_topologies.c - grids and graphs of ranks. */
#include "autoconf.h"

#include "every.h"

PROGRAM(grids)
{
    int sizes[2] = {0, 0}, ring[2] = {1, 0}, at[2], n = -1, rank = -1, before = -1, after = -1;
    const int keep[2] = {0, 1};
    int kind = -1;
    MPI_Comm grid, line;
    CALL(Dims_create, (RANKS, 2, sizes));
    CHECK(sizes[0] == 2 && sizes[1] == 2);
    CALL(Cart_map, (world, 2, sizes, ring, &rank));
    CALL(Cart_create, (world, 2, sizes, ring, 0, &grid));
    CALL(Topo_test, (grid, &kind));
    CHECK(kind == MPI_CART);
    CALL(Cartdim_get, (grid, &n));
    CHECK(n == 2);
    CALL(Cart_get, (grid, 2, sizes, ring, at));
    CALL(Cart_coords, (grid, me, 2, at));
    CALL(Cart_rank, (grid, at, &rank));
    CHECK(rank == me);
    CALL(Cart_shift, (grid, 0, 1, &before, &after));
    CHECK(before == after);
    CALL(Cart_sub, (grid, keep, &line));
    PMPI_Comm_free(&line);
    PMPI_Comm_free(&grid);
}

/* A ring: each rank has two neighbours. */
PROGRAM(graphs)
{
    const int ends[RANKS] = {2, 4, 6, 8}, edges[8] = {3, 1, 0, 2, 1, 3, 2, 0};
    int rank = -1, n = -1, m = -1, got_ends[RANKS], got[8];
    MPI_Comm graph;
    CALL(Graph_map, (world, RANKS, ends, edges, &rank));
    CALL(Graph_create, (world, RANKS, ends, edges, 0, &graph));
    CALL(Graphdims_get, (graph, &n, &m));
    CHECK(n == RANKS && m == 8);
    CALL(Graph_get, (graph, RANKS, 8, got_ends, got));
    CALL(Graph_neighbors_count, (graph, me, &n));
    CHECK(n == 2);
    CALL(Graph_neighbors, (graph, me, 2, got));
    CHECK(got[0] == left && got[1] == right);
    PMPI_Comm_free(&graph);
}

PROGRAM(graphs_of_all)
{
    const int one[1] = {1};
    int n_sources = -1, n_targets = -1, weighted = -1, sources[4], targets[4], weights[4], more[4];
    MPI_Comm graph;
    CALL(Dist_graph_create, (world, 1, &me, one, &right, one, MPI_INFO_NULL, 0, &graph));
    CALL(Dist_graph_neighbors_count, (graph, &n_sources, &n_targets, &weighted));
    CHECK(n_sources == 1 && n_targets == 1 && weighted);
    CALL(Dist_graph_neighbors, (graph, 1, sources, weights, 1, targets, more));
    CHECK(sources[0] == left && targets[0] == right);
    PMPI_Comm_free(&graph);
    CALL(Dist_graph_create_adjacent,
         (world, 1, &left, one, 1, &right, one, MPI_INFO_NULL, 0, &graph));
    PMPI_Comm_free(&graph);
}

PROGRAMS(topologies) = {P(grids), P(graphs), P(graphs_of_all), {NULL, NULL}};
