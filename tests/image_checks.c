/* image_checks.c - a call path's numbers come from several places of the image, written at
 * different instants: here they are held against each other. */
#include "autoconf.h"

#include "image_checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int image_fault(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    return 1;
}

void image_path_name(const struct rkc_profile *profile, uint32_t path, char *name, size_t size)
{
    const struct rkc_profile_path *at = &profile->paths[path];
    size_t used = 0;
    if (at->parent != RKC_NO_PATH) {
        image_path_name(profile, at->parent, name, size);
        used = strlen(name);
    }
    snprintf(name + used, size - used, "%s%s", used ? "/" : "", profile->regions[at->region].name);
}

/* What cannot be when a node is whole. The largest visit may be one that its histogram has, too, but
 * its sums do not. */
static int check_node(const struct rkc_node *node)
{
    const struct rkc_sums *sums = rkc_node_current(node);
    rkc_u128 square = (rkc_u128)sums->square_high << 64 | sums->square_low;
    if (!sums->visits)
        return sums->sum || sums->applied ? image_fault("a node without visits has time") : 0;
    if (node->min > node->max || (rkc_u128)node->min * sums->visits > sums->sum ||
        (rkc_u128)node->max * sums->visits < sums->sum)
        return image_fault("%llu visits of %llu to %llu ticks cannot take %llu",
                           (unsigned long long)sums->visits, (unsigned long long)node->min,
                           (unsigned long long)node->max, (unsigned long long)sums->sum);
    if ((square < (rkc_u128)node->max * node->max && rkc_node_ahead(node) == 0) ||
        square > (rkc_u128)node->max * node->max * sums->visits)
        return image_fault("the squares do not fit the visits");
    return 0;
}

static int check_histogram(const struct rkc_local *local, uint32_t path)
{
    struct rkc_path_hist hist;
    uint64_t visits = 0, counted = 0;
    rkc_local_hist(local, path, &hist);
    for (int bucket = 0; bucket < RKC_TIME_BUCKETS; bucket++)
        counted += hist.time[bucket];
    for (uint32_t i = 0; i < local->n_nodes; i++)
        visits += local->nodes[i].path == path ? local->nodes[i].visits : 0;
    if (visits == counted)
        return 0;
    return image_fault("the histogram holds %llu visits of %llu", (unsigned long long)counted,
                       (unsigned long long)visits);
}

/* Times of a call path, threads taken together. */
static int check_times(const struct rkc_local *local, uint32_t path)
{
    int64_t values[RKC_METRICS];
    rkc_local_values(local, path, values);
    int64_t visits = values[RKC_METRIC_VISITS], inclusive_ns = values[RKC_METRIC_INCLUSIVE];
    int64_t inside_ns = 0;
    for (uint32_t child = 0; child < local->paths.n_paths; child++) {
        if (local->paths.paths[child].parent != path)
            continue;
        int64_t inside = rkc_local_value(local, child, RKC_METRIC_INCLUSIVE);
        inside_ns += inside != RKC_ABSENT ? inside : 0;
    }
    if (visits == RKC_ABSENT)
        return inside_ns ? image_fault("call paths without visits have some inside") : 0;
    if (values[RKC_METRIC_EXCLUSIVE] < 0 ||
        inclusive_ns != values[RKC_METRIC_EXCLUSIVE] + inside_ns)
        return image_fault("%lld ns are not %lld and the %lld inside", (long long)inclusive_ns,
                           (long long)values[RKC_METRIC_EXCLUSIVE], (long long)inside_ns);
    if (values[RKC_METRIC_MPI] < 0 || values[RKC_METRIC_MPI] > inclusive_ns ||
        values[RKC_METRIC_USEFUL] < 0 || values[RKC_METRIC_USEFUL] > inclusive_ns)
        return image_fault("of %lld ns %lld are in MPI, %lld useful", (long long)inclusive_ns,
                           (long long)values[RKC_METRIC_MPI], (long long)values[RKC_METRIC_USEFUL]);
    if (values[RKC_METRIC_VISIT_MIN] > values[RKC_METRIC_VISIT_MAX] ||
        values[RKC_METRIC_VISIT_MAX] > inclusive_ns)
        return image_fault("visits of %lld to %lld ns are in %lld",
                           (long long)values[RKC_METRIC_VISIT_MIN],
                           (long long)values[RKC_METRIC_VISIT_MAX], (long long)inclusive_ns);
    return 0;
}

/* No thread was longer in its call paths than the process was there. */
static int check_wall(const struct rkc_local *local)
{
    for (uint32_t i = 0; i < local->n_nodes; i++) {
        const struct rkc_local_node *node = &local->nodes[i];
        if (node->parent == UINT32_MAX && node->inclusive_ns > local->row.wall_ns + 1)
            return image_fault("a thread has %lld ns, its process %lld",
                               (long long)node->inclusive_ns, (long long)local->row.wall_ns);
    }
    return 0;
}

/* What calls moved: as many sizes as calls or, where one was being counted, one less. */
static int check_sizes(const struct rkc_local *local)
{
    for (uint32_t i = 0; i < local->n_nodes; i++) {
        const struct rkc_local_node *node = &local->nodes[i];
        const struct rkc_traffic *traffic = rkc_local_traffic(local, node->node);
        uint64_t size[RKC_SIZE_BUCKETS] = {0}, sizes = 0,
                 visits = node->visits + atomic_load(&node->node->inner);
        if (!traffic)
            continue;
        for (; traffic; traffic = rkc_local_next_traffic(local, traffic))
            rkc_local_sizes(local, traffic, size);
        for (unsigned bucket = 0; bucket < RKC_SIZE_BUCKETS; bucket++)
            sizes += size[bucket];
        if (sizes > visits || sizes + 1 < visits)
            return image_fault("%llu sizes of %llu calls", (unsigned long long)sizes,
                               (unsigned long long)visits);
    }
    return 0;
}

int image_check(const struct rkc_local *local)
{
    int bad = local->broken ? image_fault("a part of the image cannot be read") : 0;
    for (uint32_t i = 0; i < local->n_nodes && !bad; i++)
        bad = check_node(local->nodes[i].node);
    for (uint32_t path = 0; path < local->paths.n_paths && !bad; path++)
        bad = check_histogram(local, path) || check_times(local, path);
    bad = bad ? bad : check_wall(local);
    bad = bad ? bad : check_sizes(local);
    if (bad)
        image_fault("of rank %d, process %d", local->row.rank,
                    ((const struct rkc_image_header *)(const void *)local->view->base)->pid);
    return bad;
}

uint32_t image_path(const struct rkc_local *local, const char *wanted)
{
    char name[1024];
    for (uint32_t path = 0; path < local->paths.n_paths; path++) {
        image_path_name(&local->paths, path, name, sizeof name);
        if (strcmp(name, wanted) == 0)
            return path;
    }
    return RKC_NO_PATH;
}

int64_t image_visits(const struct rkc_local *local, const char *wanted)
{
    uint32_t path = image_path(local, wanted);
    int64_t visits = path == RKC_NO_PATH ? 0 : rkc_local_value(local, path, RKC_METRIC_VISITS);
    return visits > 0 ? visits : 0;
}

static int64_t visits_of(const struct rkc_local_node *node)
{
    return (int64_t)node->visits + node->is_open;
}

static int is_called(const struct rkc_local *local, uint32_t node, const char *name)
{
    uint32_t region = local->paths.paths[local->nodes[node].path].region;
    return strcmp(local->paths.regions[region].name, name) == 0;
}

/* Three in each, of an open one perhaps fewer. */
static int check_inner(const struct rkc_local *local, uint32_t outer)
{
    int64_t inner = 0, lacking;
    for (uint32_t i = outer + 1; i < local->n_nodes; i++)
        if (local->nodes[i].parent == outer && is_called(local, i, "inner"))
            inner = visits_of(&local->nodes[i]);
    lacking = 3 * visits_of(&local->nodes[outer]) - inner;
    if (lacking == 0 || (lacking > 0 && lacking <= 3 && local->nodes[outer].is_open))
        return 0;
    return image_fault("%lld visits of outer%s hold %lld of inner",
                       (long long)visits_of(&local->nodes[outer]),
                       local->nodes[outer].is_open ? ", the last open," : "", (long long)inner);
}

int image_check_work(const struct rkc_local *local)
{
    int bad = 0, threads = 0;
    for (uint32_t i = 0; i < local->n_nodes; i++)
        if (is_called(local, i, "outer")) {
            threads++;
            bad |= check_inner(local, i);
        }
    return threads ? bad : image_fault("no visit of outer");
}
