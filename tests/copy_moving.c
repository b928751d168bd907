/* copy_moving.c - an image is copied while its threads go on: write() ends visits meanwhile. */
#include "autoconf.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tree.h"

static char folder[] = "/tmp/rankclock-test-XXXXXX";

static struct tree tree;
static uint32_t outer, inner;
static uint64_t now;
static int moves, copies; /* that are to come; that were begun */

/* The program in the middle of a visit of outer, inner being over. */
static void go_on(void)
{
    tree_begin(&tree, outer, now++);
    tree_visit(&tree, inner, now, now + 1);
    now += 2;
}

/* What is in the ring has been copied, what is open has not. */
static int is_behind_ring(int fd)
{
    const struct rkc_image *image = &tree.image;
    size_t ring = (size_t)((const char *)tree.thread->ring - image->base);
    off_t at = lseek(fd, 0, SEEK_CUR);
    copies += at == RKC_HEADER_SIZE;
    return at >= (off_t)(ring + sizeof(struct rkc_ring)) &&
           at < (off_t)(ring + sizeof(struct rkc_ring) + RKC_UNIT);
}

/* A unit at a time; visits end behind the ring. */
ssize_t write(int fd, const void *data, size_t bytes)
{
    if (is_behind_ring(fd) && moves-- > 0)
        tree_end(&tree, outer, now++);
    return syscall(SYS_write, fd, data, bytes < RKC_UNIT ? bytes : RKC_UNIT);
}

/* The visits that a copy has of outer and of inner, as outer * 1000 + inner. */
static int64_t copied(int n)
{
    const struct rkc_image_end end = {.state = RKC_STATE_SIGNAL};
    struct rkc_view view;
    struct rkc_local local;
    char path[64], text[512];
    moves = n;
    copies = 0;
    snprintf(path, sizeof path, "%s/rank-0.rkci", folder);
    if (rkc_image_save(&tree.image, path, &end) != 0 ||
        rkc_view_open(&view, path, text, sizeof text) != 0 ||
        rkc_local_collect(&local, &view, 0) != 0)
        return -1;
    int64_t visits = 1000 * local_visits(&local, "outer") + local_visits(&local, "outer/inner");
    rkc_local_free(&local);
    rkc_view_close(&view);
    unlink(path);
    return visits;
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    tree_init(&tree);
    outer = tree_user(&tree, "outer");
    inner = tree_user(&tree, "inner");
    go_on();
    is_int(copied(0), 1001, "of threads that do nothing a copy has what is open");
    is_int(copies, 1, "and is made once");
    is_int(copied(1), 1001, "a visit that ends in the middle is neither lost nor twice there");
    is_int(copies, 2, "all is copied once more");
    go_on();
    tree_end(&tree, outer, now++);
    is_int(copied(0), 2002, "it ended once");
    rmdir(folder);
    tree_free(&tree);
    return done_testing();
}
