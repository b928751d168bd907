/* devices.c - which devices the ranks of a run used, from the sink to the reader. */
/* LIMIT 120 */
#include "autoconf.h"

#include <unistd.h>

#include "round_trip.h"

static void test_devices(void)
{
    struct synthetic run = synthetic_run(5000, SYNTHETIC_PATHS);
    run.with_gpu = 1;
    run.ranks_in_block = 700;
    struct rkc_reader *reader = round_trip(&run, "devices.h5");
    if (!reader)
        return;
    size_t n, n_uses, wrong = 0;
    const struct rkc_reader_device *devices = rkc_reader_devices(reader, &n);
    const struct rkc_reader_device_use *uses = rkc_reader_device_use(reader, &n_uses);
    is_int((int64_t)n, 2500, "ranks that name one device share a row");
    is_str(devices[2499].node, "node2499", "which has its node");
    is_str(devices[2499].uuid, "GPU-000009c3-0000-0000-0000-000000000000", "its UUID");
    is_str(devices[2499].name, "NVIDIA H200", "its name");
    is_str(devices[2499].pci_bus_id, "0000:3b:00.0", "its bus id");
    is_int(devices[2499].driver_version, 13000, "its driver");
    ok(devices[2499].numa_node == 1 && devices[2498].numa_node == 0, "and its NUMA node");
    is_int((int64_t)n_uses, 5000, "each rank has a row of its own for it");
    const struct rkc_reader_rank *ranks = rkc_reader_ranks(reader, &n);
    for (uint32_t i = 0; i < n_uses; i++) {
        int64_t ns = synthetic_device_ns(&run, i);
        wrong += uses[i].rank != (int32_t)i || uses[i].device != (int32_t)i / 2 ||
                 uses[i].covered_ns != ns || uses[i].device_ns != ns ||
                 uses[i].rank_numa_node != (i % 2 ? (int32_t)i % 4 / 2 : -1) ||
                 ranks[i].device != (int32_t)i / 2 || ranks[i].device_ns != ns;
    }
    is_int((int64_t)wrong, 0, "with its times, which the rank has, too, and the rank's NUMA node");
    is_int(wrong_rows(reader, &run, 499), 0, "and the values of GPU regions are read back");
    const struct rkc_reader_stat *lost =
        &rkc_reader_profile(reader, "device_captured")[SYNTHETIC_COMPUTE];
    ok(lost->ranks == 1 && lost->sum == SYNTHETIC_CAPTURED && lost->max_rank == 1,
       "visits without device time are told by reason");
    ok(!rkc_reader_profile(reader, "device_pool"), "but no reason that there was not");
    rkc_reader_close(reader);
}

/* Two ranks: one with four devices, of which some lack what they are known by; one without. */
static void test_unknown_devices(void)
{
    char text[RKC_SINK_TEXT_MAX];
    struct rkc_job job;
    struct rkc_profile profile;
    struct rkc_numbers numbers;
    struct rkc_sink *sink;
    struct synthetic run = synthetic_run(2, SYNTHETIC_PATHS);
    const struct rkc_rank_row ranks[2] = {{.rank = 0, .n_devices = 5, .node = "a"},
                                          {.rank = 1, .node = "a"}};
    const struct rkc_rank_device devices[5] = {{.index = 0, .ns = 10},
                                               {.index = 1, .ns = 30},
                                               {.index = 7, .bus_id = "0000:3b:00.0", .ns = 30},
                                               {.index = 8, .bus_id = "0000:3b:00.0", .ns = 5},
                                               {.index = 9, .uuid = "MIG-1", .ns = INT64_MAX}};
    struct rkc_rows rows = {.n_ranks = 2, .n_paths = run.n_paths, .ranks = ranks,
                            .devices = devices};
    run.row_metrics = 0;
    synthetic_job(&run, 0, &job);
    job.device_uses = 5;
    if (synthetic_profile(&run, &profile) || rkc_numbers_init(&numbers, 0, run.n_paths) ||
        rkc_sink_hdf5_open(in_folder("unknown.h5"), 0600, &sink, text))
        exit(1);
    int status = sink->ops->job(sink, &job);
    status = status ? status : sink->ops->profile(sink, &profile);
    status = status ? status : sink->ops->numbers(sink, &numbers);
    status = status ? status : sink->ops->rows(sink, &rows);
    status = status ? status : sink->ops->finish(sink, RKC_FILE_COMPLETE, NULL, 0, text);
    sink->ops->close(sink);
    rkc_numbers_free(&numbers);
    rkc_profile_free(&profile);
    rkc_job_free(&job);
    is_int(status, 0, "devices of which little is known are written");

    struct rkc_reader *reader;
    if (rkc_reader_open(text, &reader, NULL, 0))
        exit(1);
    size_t n, n_uses;
    rkc_reader_devices(reader, &n);
    const struct rkc_reader_device_use *uses = rkc_reader_device_use(reader, &n_uses);
    const struct rkc_reader_rank *read = rkc_reader_ranks(reader, &n_uses);
    is_int((int64_t)n, 4, "a bus id or else a number tells them apart");
    ok(uses[2].device == uses[3].device && uses[2].device != uses[1].device, "as far as it can");
    is_int(read[0].device, uses[4].device, "a rank's device is the one that it used most");
    is_int(read[0].device_ns, INT64_MAX, "its time is that on all, or the largest number");
    ok(read[1].device == -1 && read[1].device_ns == -1, "a rank without one has none");
    rkc_reader_close(reader);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_devices();
    test_unknown_devices();
    empty_folder();
    rmdir(folder);
    return done_testing();
}
