// A CUDA program as users write them, for the double: prints what it finds, one fact a line.
#include <cstdio>
#include <cuda_runtime.h>

static __device__ int factor;

__global__ void work(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] *= static_cast<float>(factor);
}

template <typename T> __global__ void other_work(T *values)
{
    values[0] = T();
}

static void launch(float *values, int n, cudaStream_t stream)
{
    work<<<(n + 255) / 256, 256, 0, stream>>>(values, n);
}

static float time_of(cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end, float *values, int n)
{
    float ms = -1;
    cudaEventRecord(begin, stream);
    launch(values, n, stream);
    cudaEventRecord(end, stream);
    std::printf("pending %d\n", cudaEventQuery(end) == cudaErrorNotReady);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    return ms;
}

static float time_of_graph(cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end, float *values,
                           int n)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float ms = -1;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    launch(values, n, stream);
    launch(values, n, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaEventRecord(begin, stream);
    cudaGraphLaunch(exec, stream);
    cudaEventRecord(end, stream);
    cudaStreamSynchronize(stream);
    cudaEventElapsedTime(&ms, begin, end);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return ms;
}

int main()
{
    const int n = 1000, two = 2;
    float from[n], to[n], *values, *pinned, *managed;
    int n_devices = 0, device = -1;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    for (int i = 0; i < n; i++) {
        from[i] = static_cast<float>(i);
        to[i] = -1;
    }
    cudaGetDeviceCount(&n_devices);
    std::printf("devices %d\n", n_devices);
    cudaSetDevice(n_devices - 1);
    cudaGetDevice(&device);
    std::printf("device %d\n", device);
    cudaMalloc(&values, sizeof(from));
    cudaMallocHost(&pinned, sizeof(from));
    cudaMallocManaged(&managed, sizeof(from));
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMemcpyToSymbol(factor, &two, sizeof(two));
    cudaMemcpyAsync(values, from, sizeof(from), cudaMemcpyHostToDevice, stream);
    std::printf("work %.2f ms\n", time_of(stream, begin, end, values, n));
    std::printf("graph %.2f ms\n", time_of_graph(stream, begin, end, values, n));
    cudaMemset(values, 0, sizeof(float));
    cudaMemcpy(to, values, sizeof(to), cudaMemcpyDeviceToHost);
    std::printf("moved %g to %g\n", to[0], to[n - 1]);
    other_work<<<1, 1>>>(managed);
    std::printf("wrong launch: ");
    work<<<1, 5000, 0, stream>>>(values, n);
    std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    std::printf("then: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
    cudaFree(values);
    cudaFreeHost(pinned);
    cudaFree(managed);
    cudaStreamDestroy(stream);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    std::printf("end %d\n", cudaDeviceSynchronize());
    return 0;
}
