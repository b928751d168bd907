/* neighbors.c - which images a rank takes for those of its neighbors. What processes tell is for
 * strangers.sh. */
#include "autoconf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "neighbors.h"
#include "tap.h"

static char folder[] = "/tmp/rankclock-neighbors.XXXXXX";
static struct rkc_image_header own;

static struct rkc_image_header header_of(int rank)
{
    struct rkc_image_header header = own;
    atomic_store(&header.rank, rank);
    return header;
}

/* The first bytes of an image, under the name that it has in the spool. */
static void put(const char *name, const struct rkc_image_header *header, size_t bytes)
{
    char path[256];
    snprintf(path, sizeof path, "%s/rankclock-run.world.rank-%s.rkci", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ok(fd >= 0 && write(fd, header, bytes) == (ssize_t)bytes, "there is a file");
    close(fd);
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        printf("# %s is left\n", folder);
}

static void begin(void)
{
    own.magic = RKC_IMAGE_MAGIC;
    own.layout = RKC_IMAGE_LAYOUT;
    own.order = RKC_IMAGE_ORDER;
    strcpy(own.run_id, "run");
    strcpy(own.world_id, "world");
    strcpy(own.boot_id, "boot");
    atomic_store(&own.rank, 2);
    atomic_store(&own.size, 9);
}

int main(void)
{
    struct rkc_neighbors neighbors = {0};
    if (!mkdtemp(folder))
        return 1;
    begin();
    is_int(rkc_neighbors_look(&neighbors, &own, folder), 0, "an empty folder is looked into");
    is_int((int64_t)neighbors.n, 0, "and has nobody");

    struct rkc_image_header header = header_of(5);
    put("5", &header, sizeof header);
    header = header_of(1);
    atomic_store(&header.arrived_unix_ns, 1000);
    put("1", &header, sizeof header);
    header = header_of(2);
    put("2", &header, sizeof header);
    header = header_of(3);
    strcpy(header.run_id, "other");
    put("3", &header, sizeof header);
    header = header_of(4);
    strcpy(header.boot_id, "before");
    put("4", &header, sizeof header);
    header = header_of(6);
    put("6", &header, sizeof header / 2);
    header = header_of(7);
    header.layout++;
    put("7", &header, sizeof header);
    header = header_of(-1);
    put("8", &header, sizeof header);
    char link[256];
    snprintf(link, sizeof link, "%s/rankclock-run.world.rank-0.rkci", folder);
    is_int(symlink("rankclock-run.world.rank-5.rkci", link), 0, "there is a link");

    is_int(rkc_neighbors_look(&neighbors, &own, folder), 0, "a folder is looked into");
    is_int(
        (int64_t)neighbors.n, 2,
        "not counted are oneself, another run, an earlier boot, a torn file, another layout, one "
        "without a rank, a link");
    is_int(neighbors.list[0].rank, 1, "they are in the order of ranks: 1");
    is_int(neighbors.list[0].state, RKC_NEIGHBOR_ARRIVED, "which has come to MPI_Finalize");
    is_int(neighbors.list[0].arrived_unix_ns, 1000, "at that time");
    is_int(neighbors.list[1].rank, 5, "and 5");
    is_int(neighbors.list[1].state, RKC_NEIGHBOR_RUNS, "which has not");

    ok(rkc_neighbors_find(&neighbors, 3) == NULL, "one that was not found is not there");
    is_int(rkc_neighbors_get(&neighbors, 3)->state, RKC_NEIGHBOR_UNSEEN,
           "until it is added, unseen");
    is_int(neighbors.list[1].rank, 3, "in its place");
    ok(rkc_neighbors_get(&neighbors, 3) == &neighbors.list[1], "once");
    is_int(rkc_neighbors_look(&neighbors, &own, folder), 0, "it is looked again");
    is_int((int64_t)neighbors.n, 2, "and what was known before is forgotten");
    rkc_neighbors_free(&neighbors);
    is_int(rkc_neighbors_look(&neighbors, &own, ""), 0, "without a spool nobody is looked for");
    is_int((int64_t)neighbors.n, 0, "nor found");
    rkc_neighbors_free(&neighbors);
    remove_all();
    return done_testing();
}
