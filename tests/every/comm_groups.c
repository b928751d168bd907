/* comm_groups.c - groups. */
#include "autoconf.h"

#include "every.h"

static void freed(MPI_Group *group, int size)
{
    int got = -1;
    CALL(Group_size, (*group, &got));
    CHECK(got == size);
    CALL(Group_free, (group));
}

PROGRAM(parts_of_groups)
{
    const int two[2] = {1, 2};
    int range[1][3] = {{0, 3, 2}}, rank = -1, other = -1;
    MPI_Group all, some;
    CALL(Comm_group, (world, &all));
    CALL(Group_rank, (all, &rank));
    CHECK(rank == me);
    CALL(Group_incl, (all, 2, two, &some));
    CALL(Group_translate_ranks, (some, 1, &(int){1}, all, &other));
    CHECK(other == 2);
    freed(&some, 2);
    CALL(Group_excl, (all, 1, two, &some));
    freed(&some, 3);
    CALL(Group_range_incl, (all, 1, range, &some));
    freed(&some, 2);
    CALL(Group_range_excl, (all, 1, range, &some));
    freed(&some, 2);
    freed(&all, RANKS);
}

PROGRAM(sets_of_groups)
{
    const int low[2] = {0, 1}, middle[2] = {1, 2};
    int result = -1;
    MPI_Group all, first, second, both;
    PMPI_Comm_group(world, &all);
    PMPI_Group_incl(all, 2, low, &first);
    PMPI_Group_incl(all, 2, middle, &second);
    CALL(Group_compare, (first, second, &result));
    CHECK(result == MPI_UNEQUAL);
    CALL(Group_union, (first, second, &both));
    freed(&both, 3);
    CALL(Group_intersection, (first, second, &both));
    freed(&both, 1);
    CALL(Group_difference, (first, second, &both));
    freed(&both, 1);
    PMPI_Group_free(&first);
    PMPI_Group_free(&second);
    PMPI_Group_free(&all);
}

PROGRAMS(groups) = {P(parts_of_groups), P(sets_of_groups), {NULL, NULL}};
