/* await.c - one rank of a node looks for all of it, and one node speaks for all: the first to have
 * come, since its half minute ends first. All ranks look for the word of another node's. */
#include "autoconf.h"

#include "await.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "collect.h"
#include "log.h"
#include "mark.h"
#include "neighbors.h"
#include "runtime.h"

static const int64_t SECOND_NS = 1000000000;

enum {
    LOOK_S =
        4, /* when neighbors are looked at first; then each time that as much has passed again */
    SURE_S = 1, /* a process without us is one when it is seen again that much later */
    SAY_S = 30,
    YIELD_S = 3, /* longer where nobody of the node is missing: another node has more to tell */
    LOOKS_IN_S = 1000, /* of all ranks together, for a mark on what may be one server */
    RUNNING_MAX = 4,   /* of which the call path is told */
    PATH_CHARACTERS = 100,
    TEXT = 640,
};

static struct {
    const struct rkc_image_header *own;
    int rank, size, timeout_s;
    int64_t began_ns, look_ns, mark_ns, say_ns; /* when each is to be done; INT64_MAX: done */
    struct rkc_neighbors seen;                  /* the last time */
    char why[RKC_MARK_TEXT_MAX];
    int found; /* that a rank is without us, by this one */
    int claimed;
} waits;

/* ---- text ---- */

struct text {
    char at[TEXT];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->at + text->used, sizeof text->at - text->used, format, args);
    va_end(args);
    if (n > 0)
        text->used += (size_t)n;
    if (text->used >= sizeof text->at)
        text->used = sizeof text->at - 1;
}

static int count(const struct rkc_neighbors *neighbors, enum rkc_neighbor_state state)
{
    int n = 0;
    for (size_t i = 0; i < neighbors->n; i++)
        n += neighbors->list[i].state == state;
    return n;
}

/* "rank 3", "ranks 1, 3-5": those of a state. */
static void add_ranks(struct text *text, const struct rkc_neighbors *neighbors,
                      enum rkc_neighbor_state state)
{
    const char *before = count(neighbors, state) > 1 ? "ranks " : "rank ";
    for (size_t i = 0; i < neighbors->n; i++) {
        size_t last = i;
        if (neighbors->list[i].state != state)
            continue;
        while (last + 1 < neighbors->n && neighbors->list[last + 1].state == state &&
               neighbors->list[last + 1].rank == neighbors->list[last].rank + 1)
            last++;
        if (text->used > TEXT / 2) {
            add(text, ", ...");
            return;
        }
        add(text, "%s%d", before, neighbors->list[i].rank);
        if (last > i)
            add(text, "-%d", neighbors->list[last].rank);
        before = ", ";
        i = last;
    }
}

/* The call path that an image says is open, its end where it is long; "" for none. */
static void open_path(const char *image, char path[PATH_CHARACTERS])
{
    struct rkc_view view;
    struct rkc_local local;
    char why[256];
    size_t at = PATH_CHARACTERS - 1;
    path[0] = '\0';
    if (!image || rkc_view_open(&view, image, why, sizeof why) != 0)
        return;
    if (rkc_local_collect(&local, &view, 0) == 0) {
        const struct rkc_profile *paths = &local.paths;
        uint32_t i = local.row.open_path;
        path[at] = '\0';
        while (i < paths->n_paths && paths->paths[i].parent != RKC_NO_PATH) {
            const char *name = paths->regions[paths->paths[i].region].name;
            size_t length = strlen(name), slash = at < PATH_CHARACTERS - 1;
            if (length + slash + 4 > at) {
                at -= 4;
                memcpy(path + at, ".../", 4);
                break;
            }
            at -= slash;
            path[at] = slash ? '/' : path[at];
            at -= length;
            memcpy(path + at, name, length);
            i = paths->paths[i].parent;
        }
        memmove(path, path + at, PATH_CHARACTERS - at);
        rkc_local_free(&local);
    }
    rkc_view_close(&view);
}

static void add_running(struct text *text, const struct rkc_neighbors *neighbors)
{
    int n = 0, more = count(neighbors, RKC_NEIGHBOR_RUNS) - RUNNING_MAX;
    for (size_t i = 0; i < neighbors->n && n < RUNNING_MAX; i++) {
        const struct rkc_neighbor *neighbor = &neighbors->list[i];
        char path[PATH_CHARACTERS];
        if (neighbor->state != RKC_NEIGHBOR_RUNS)
            continue;
        open_path(neighbor->image, path);
        add(text, "%srank %d is in %s", n++ ? ", " : "", neighbor->rank,
            *path ? path : "no region");
    }
    if (more > 0)
        add(text, " and %d more are on their way", more);
}

/* What is known of those of this node that have not come. */
static void describe(struct text *text, const struct rkc_neighbors *neighbors)
{
    const char *between = "";
    if (count(neighbors, RKC_NEIGHBOR_RUNS) > 0) {
        add_running(text, neighbors);
        between = "; ";
    }
    if (count(neighbors, RKC_NEIGHBOR_UNSEEN) > 0) {
        add(text, "%s", between);
        add_ranks(text, neighbors, RKC_NEIGHBOR_UNSEEN);
        add(text,
            count(neighbors, RKC_NEIGHBOR_UNSEEN) > 1 ? " have no image on %s"
                                                      : " has no image on %s",
            waits.own->host);
        between = "; ";
    }
    if (count(neighbors, RKC_NEIGHBOR_WITHOUT) > 0) {
        add(text, "%s", between);
        add_ranks(text, neighbors, RKC_NEIGHBOR_WITHOUT);
        add(text, count(neighbors, RKC_NEIGHBOR_WITHOUT) > 1 ? " run without rankclock"
                                                             : " runs without rankclock");
        between = "; ";
    }
    if (!*between && neighbors->n > 0)
        add(text, "all on %s are", waits.own->host);
}

/* ---- who acts ---- */

/* Whether an image of this process can be seen by its neighbors. */
static int is_seen(void)
{
    return rkc_private_image()->spool.name[0] != '\0';
}

/* Whether this rank looks and speaks for its node. */
static int is_first(const struct rkc_neighbors *neighbors)
{
    int64_t arrived_ns = atomic_load(&waits.own->arrived_unix_ns);
    for (size_t i = 0; i < neighbors->n; i++) {
        const struct rkc_neighbor *other = &neighbors->list[i];
        if (other->state == RKC_NEIGHBOR_ARRIVED &&
            (!is_seen() || other->arrived_unix_ns < arrived_ns ||
             (other->arrived_unix_ns == arrived_ns && other->rank < waits.rank)))
            return 0;
    }
    return 1;
}

/* Whether all ranks of the world have been seen here, and can see this one. */
static int is_all(const struct rkc_neighbors *neighbors)
{
    return is_seen() && (int64_t)neighbors->n + 1 == waits.size &&
           count(neighbors, RKC_NEIGHBOR_UNSEEN) == 0;
}

/* What there is to know of this node; processes are only looked at where images are missing. */
static int look(struct rkc_neighbors *neighbors)
{
    int expected = rkc_neighbors_expected();
    if (rkc_neighbors_look(neighbors, waits.own, rkc_private_config()->spool) != 0)
        return RKC_ENOMEM;
    if (!is_first(neighbors) || (int64_t)neighbors->n + 1 >= (expected ? expected : waits.size))
        return 0;
    int status = rkc_neighbors_search(neighbors, waits.own);
    for (int32_t rank = 0; status == 0 && expected == waits.size && rank < waits.size; rank++)
        if (rank != waits.rank && !rkc_neighbors_get(neighbors, rank))
            status = RKC_ENOMEM;
    return status;
}

/* ---- a rank without us ---- */

/* Whether a process without us was one the last time, too. */
static int is_sure(const struct rkc_neighbor *neighbor)
{
    const struct rkc_neighbor *before = rkc_neighbors_find(&waits.seen, neighbor->rank);
    return before && before->state == RKC_NEIGHBOR_WITHOUT && before->pid == neighbor->pid &&
           before->started == neighbor->started;
}

/* Look at the neighbors: 1 when one of them is without us. */
static int look_for_strangers(int64_t now_ns)
{
    struct rkc_neighbors neighbors = {0};
    int strangers = 0, sure = 0;
    if (look(&neighbors) == 0) {
        for (size_t i = 0; i < neighbors.n; i++) {
            struct rkc_neighbor *neighbor = &neighbors.list[i];
            strangers += neighbor->state == RKC_NEIGHBOR_WITHOUT;
            sure += neighbor->state == RKC_NEIGHBOR_WITHOUT && is_sure(neighbor);
        }
    }
    int64_t waited_ns = now_ns - waits.began_ns;
    waits.look_ns = now_ns + (strangers > sure ? SURE_S * SECOND_NS : waited_ns);
    rkc_neighbors_free(&waits.seen);
    waits.seen = neighbors;
    if (sure == 0 || sure < strangers)
        return 0;
    struct text text = {.used = 0};
    add_ranks(&text, &neighbors, RKC_NEIGHBOR_WITHOUT);
    snprintf(waits.why, sizeof waits.why, "%.*s on %s %s without rankclock", TEXT / 2 + 32, text.at,
             waits.own->host, strangers > 1 ? "run" : "runs");
    waits.found = 1;
    return 1;
}

/* ---- the line ---- */

static int is_missing_some(const struct rkc_neighbors *neighbors)
{
    return (size_t)count(neighbors, RKC_NEIGHBOR_ARRIVED) < neighbors->n;
}

/* Whether this rank is to speak for all; waits.say_ns says when to ask again, if at all. */
static int speaks(const struct rkc_neighbors *neighbors, int64_t now_ns)
{
    int64_t yield_ns = waits.began_ns + (SAY_S + YIELD_S) * SECOND_NS;
    waits.say_ns = INT64_MAX;
    if (!is_first(neighbors))
        return 0;
    if (is_all(neighbors))
        return 1;
    if (!is_missing_some(neighbors) && now_ns < yield_ns) {
        waits.say_ns = yield_ns;
        return 0;
    }
    int claim = rkc_mark_claim(waits.own);
    waits.claimed = claim == 1;
    return claim == 1 || (claim < 0 && (waits.rank == 0 || rkc_neighbors_find(neighbors, 0)));
}

static void say(int64_t now_ns)
{
    struct rkc_neighbors neighbors = {0};
    if (look(&neighbors) == 0 && speaks(&neighbors, now_ns)) {
        struct text text = {.used = 0};
        describe(&text, &neighbors);
        rkc_log(
            RKC_LOG_WARNING,
            "not all ranks are in MPI_Finalize after %d s%s%s%s: the others wait for %d s in all "
            "(RANKCLOCK_FINALIZE_TIMEOUT)",
            (int)SAY_S, text.used ? " (" : "", text.at, text.used ? ")" : "", waits.timeout_s);
    }
    rkc_neighbors_free(&neighbors);
}

/* ---- the whole ---- */

static void begin(const struct rkc_link *link, int64_t began_ns, int timeout_s)
{
    if (waits.own)
        return;
    waits.own = rkc_image_header(rkc_private_image());
    waits.rank = link->rank;
    waits.size = link->size;
    waits.timeout_s = timeout_s;
    waits.began_ns = began_ns;
    waits.look_ns = began_ns + LOOK_S * SECOND_NS;
    waits.mark_ns = began_ns + SECOND_NS;
    waits.say_ns = timeout_s > SAY_S ? began_ns + SAY_S * SECOND_NS : INT64_MAX;
}

/* Do what is due: 1 when it is in vain to wait. */
static int do_what_is_due(int64_t now_ns)
{
    int64_t each_ns = SECOND_NS / LOOKS_IN_S * waits.size;
    if (now_ns >= waits.mark_ns) {
        waits.mark_ns = now_ns + (each_ns > SECOND_NS ? each_ns : SECOND_NS);
        if (rkc_mark_read(waits.own, waits.why))
            return 1;
    }
    if (now_ns >= waits.look_ns && look_for_strangers(now_ns))
        return 1;
    if (now_ns >= waits.say_ns)
        say(now_ns);
    return 0;
}

static int64_t next_ns(int64_t deadline_ns)
{
    int64_t next = waits.mark_ns < waits.look_ns ? waits.mark_ns : waits.look_ns;
    next = waits.say_ns < next ? waits.say_ns : next;
    return next < deadline_ns ? next : deadline_ns;
}

int rkc_await(const struct rkc_link *link, struct rkc_pending *pending, int64_t began_ns,
              int timeout_s, int64_t deadline_ns)
{
    begin(link, began_ns, timeout_s);
    for (;;) {
        int status = rkc_private_wait(link->carrier, pending, next_ns(deadline_ns));
        int64_t now_ns = rkc_clock_monotonic_ns();
        if (status != RKC_ETIMEOUT || now_ns >= deadline_ns || do_what_is_due(now_ns))
            return status;
    }
}

const char *rkc_await_why(void)
{
    return waits.why[0] ? waits.why : NULL;
}

void rkc_await_end(void)
{
    if (waits.claimed)
        rkc_mark_release(waits.own);
    if (waits.found)
        rkc_mark_leave(waits.own, waits.why);
    rkc_neighbors_free(&waits.seen);
    waits.claimed = waits.found = 0;
}
