/* type_types.c - making datatypes, and asking about them. */
#include "autoconf.h"

#include "every.h"

#ifndef EVERY_LARGE
/* The size of a type that is made and freed again. */
static void freed(MPI_Datatype *type, int bytes)
{
    int size = -1;
    CALL(Type_size, (*type, &size));
    CHECK(size == bytes);
    CALL(Type_free, (type));
}
#endif

PROGRAM(types_of_one)
{
    MPI_Datatype type, other;
    CALL(C(Type_contiguous), (3, MPI_INT, &type));
    CALL(Type_commit, (&type));
    CALL(Type_dup, (type, &other));
    freed(&type, 12);
    freed(&other, 12);
    CALL(C(Type_vector), (2, 3, 4, MPI_INT, &type));
    freed(&type, 24);
    CALL(C(Type_create_hvector), (2, 3, 64, MPI_INT, &type));
    freed(&type, 24);
    CALL(C(Type_create_resized), (MPI_INT, 0, 16, &type));
    freed(&type, 4);
}

PROGRAM(types_of_many)
{
    const COUNT lengths[2] = {1, 2}, places[2] = {0, 4};
    const EXTENT bytes[2] = {0, 64};
    const MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype type;
    CALL(C(Type_indexed), (2, lengths, places, MPI_INT, &type));
    freed(&type, 12);
    CALL(C(Type_create_indexed_block), (2, 3, places, MPI_INT, &type));
    freed(&type, 24);
    CALL(C(Type_create_hindexed), (2, lengths, bytes, MPI_INT, &type));
    freed(&type, 12);
    CALL(C(Type_create_hindexed_block), (2, 3, bytes, MPI_INT, &type));
    freed(&type, 24);
    CALL(C(Type_create_struct), (2, lengths, bytes, types, &type));
    freed(&type, 17);
}

PROGRAM(types_of_arrays)
{
    const COUNT sizes[2] = {8, 8}, parts[2] = {2, 3}, starts[2] = {1, 1};
    const int ways[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, ranks[2] = {2, 2};
    const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Datatype type;
    CALL(C(Type_create_subarray), (2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    freed(&type, 24);
    CALL(C(Type_create_darray),
         (RANKS, me, 2, sizes, ways, arguments, ranks, MPI_ORDER_C, MPI_INT, &type));
    freed(&type, 64);
}

PROGRAM(extents)
{
    EXTENT lower = -1, extent = -1;
    COUNT size = -1;
    CALL(C(Type_size), (MPI_DOUBLE, &size));
    CHECK(size == 8);
    CALL(C(Type_get_extent), (MPI_DOUBLE, &lower, &extent));
    CHECK(lower == 0 && extent == 8);
    CALL(C(Type_get_true_extent), (MPI_DOUBLE, &lower, &extent));
    CHECK(lower == 0 && extent == 8);
#ifndef EVERY_LARGE
    MPI_Count large = -1, low = -1;
    CALL(Type_size_x, (MPI_DOUBLE, &large));
    CHECK(large == 8);
    CALL(Type_get_extent_x, (MPI_DOUBLE, &low, &large));
    CHECK(low == 0 && large == 8);
    CALL(Type_get_true_extent_x, (MPI_DOUBLE, &low, &large));
    CHECK(low == 0 && large == 8);
    MPI_Aint address = 0;
    CALL(Get_address, (&size, &address));
    CHECK(address != 0);
#endif
}

#ifndef EVERY_LARGE
PROGRAM(contents)
{
    int n_ints = -1, n_places = -1, n_types = -1, combiner = -1, ints[4];
    MPI_Aint places[4];
    MPI_Datatype type, types[4];
    PMPI_Type_vector(2, 3, 4, MPI_INT, &type);
    CALL(Type_get_envelope, (type, &n_ints, &n_places, &n_types, &combiner));
    CHECK(n_ints == 3 && n_places == 0 && n_types == 1 && combiner == MPI_COMBINER_VECTOR);
    CALL(Type_get_contents, (type, n_ints, n_places, n_types, ints, places, types));
    CHECK(ints[0] == 2 && ints[1] == 3 && ints[2] == 4);
    PMPI_Type_free(&type);
}
#else
PROGRAM(contents)
{
    int combiner = -1, ints[4];
    MPI_Count n_ints = -1, n_places = -1, n_counts = -1, n_types = -1, counts[4] = {0};
    MPI_Aint places[4];
    MPI_Datatype type, types[4];
    PMPI_Type_vector_c(2, 3, 4, MPI_INT, &type);
    CALL(Type_get_envelope_c, (type, &n_ints, &n_places, &n_counts, &n_types, &combiner));
    CHECK(n_counts == 3 && n_types == 1 && combiner == MPI_COMBINER_VECTOR);
    CALL(Type_get_contents_c,
         (type, n_ints, n_places, n_counts, n_types, ints, places, counts, types));
    CHECK(counts[0] == 2 && counts[1] == 3 && counts[2] == 4);
    PMPI_Type_free(&type);
}
#endif

#ifndef EVERY_LARGE
static int copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int erase(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

PROGRAM(type_attributes)
{
    int key, flag = 0, deleted = 0, length = 0, *value = NULL;
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Datatype type;
    PMPI_Type_contiguous(2, MPI_INT, &type);
    CALL(Type_create_keyval, (copy, erase, &key, &deleted));
    CALL(Type_set_attr, (type, key, &flag));
    CALL(Type_get_attr, (type, key, &value, &flag));
    CHECK(flag && value == &flag);
    CALL(Type_delete_attr, (type, key));
    CHECK(deleted == 1);
    CALL(Type_free_keyval, (&key));
    CALL(Type_set_name, (type, "pair"));
    CALL(Type_get_name, (type, name, &length));
    CHECK(strcmp(name, "pair") == 0);
    PMPI_Type_free(&type);
}

/* Those that are found are not to be freed. */
PROGRAM(types_by_size)
{
    int size = 0;
    MPI_Datatype type;
    CALL(Type_match_size, (MPI_TYPECLASS_REAL, 8, &type));
    PMPI_Type_size(type, &size);
    CHECK(size == 8);
    CALL(Type_create_f90_real, (15, MPI_UNDEFINED, &type));
    CALL(Type_create_f90_complex, (15, MPI_UNDEFINED, &type));
    CALL(Type_create_f90_integer, (9, &type));
}

#ifdef RKC_HAVE_MPI_REMOVED
PROGRAM(removed_types)
{
    int lengths[2] = {1, 2};
    MPI_Aint bytes[2] = {0, 64}, extent = -1;
    MPI_Datatype type, types[2] = {MPI_CHAR, MPI_DOUBLE};
    CALL(Address, (lengths, &extent));
    CALL(Type_hvector, (2, 3, 64, MPI_INT, &type));
    freed(&type, 24);
    CALL(Type_hindexed, (2, lengths, bytes, MPI_INT, &type));
    freed(&type, 12);
    CALL(Type_struct, (2, lengths, bytes, types, &type));
    CALL(Type_extent, (MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    CALL(Type_lb, (MPI_DOUBLE, &extent));
    CHECK(extent == 0);
    CALL(Type_ub, (MPI_DOUBLE, &extent));
    CHECK(extent == 8);
    freed(&type, 17);
}
#endif
#endif

PROGRAMS(types) = {
    P(types_of_one),    P(types_of_many), P(types_of_arrays), P(extents), P(contents),
#ifndef EVERY_LARGE
    P(type_attributes), P(types_by_size),
#ifdef RKC_HAVE_MPI_REMOVED
    P(removed_types),
#endif
#endif
    {NULL, NULL},
};

#if defined RKC_HAVE_MPI_LARGE_COUNT && !defined EVERY_LARGE
#define EVERY_LARGE
#include "type_types.c"
#endif
