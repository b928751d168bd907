/* A double of libtorch_cuda.so: its C interface to the current stream, as it is and, with EARLY, as
 * it was, with the arguments the other way round. */
#include <stdint.h>

#define API __attribute__((visibility("default")))

/* What is current on each device, for the test to set; the devices that were asked for. */
extern API void *faketorch_streams[16];
extern API int faketorch_asked;
void *faketorch_streams[16];
int faketorch_asked;

#ifdef EARLY
API int32_t aoti_torch_get_current_cuda_stream(void **ret_stream, int32_t device_index);
API int32_t aoti_torch_set_current_cuda_stream(void *stream, int32_t device_index);

int32_t aoti_torch_get_current_cuda_stream(void **ret_stream, int32_t device_index)
{
    faketorch_asked++;
    *ret_stream = faketorch_streams[device_index];
    return 0;
}

int32_t aoti_torch_set_current_cuda_stream(void *stream, int32_t device_index)
{
    faketorch_streams[device_index] = stream;
    return 0;
}
#else
API int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void **ret_stream);

int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void **ret_stream)
{
    faketorch_asked++;
    if (device_index < 0 || device_index >= 16 || faketorch_streams[device_index] == (void *)-1)
        return 1;
    *ret_stream = faketorch_streams[device_index];
    return 0;
}
#endif
