/* Graphs: nodes in the order of their making, which is one that their dependencies allow, and run
 * in. What is launched is a copy. */
#include "double.h"

#include <stdlib.h>
#include <string.h>

struct fake_exec {
    CUgraphExec handle;
    struct fake_op **ops;
    size_t n_ops;
};

/* --- sets of nodes --------------------------------------------------------------------------- */

void fake_set_add(struct fake_set *set, CUgraphNode node)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->nodes[i] == node)
            return;
    CUgraphNode *nodes = fake_alloc((set->n + 1) * sizeof(*nodes));
    if (set->n)
        memcpy(nodes, set->nodes, set->n * sizeof(*nodes));
    nodes[set->n] = node;
    free(set->nodes);
    set->nodes = nodes;
    set->n++;
}

void fake_set_join(struct fake_set *set, const struct fake_set *other)
{
    for (size_t i = 0; i < other->n; i++)
        fake_set_add(set, other->nodes[i]);
}

void fake_set_clear(struct fake_set *set)
{
    free(set->nodes);
    set->nodes = NULL;
    set->n = 0;
}

/* --- graphs ---------------------------------------------------------------------------------- */

struct fake_graph *fake_graph_new(void)
{
    struct fake_graph *graph = fake_alloc(sizeof(*graph));
    graph->handle = fake_handle_new(FAKE_GRAPH, graph);
    return graph;
}

struct fake_node *fake_graph_add(struct fake_graph *graph, struct fake_op *op,
                                 const struct fake_set *dependencies)
{
    struct fake_node *node = fake_alloc(sizeof(*node));
    node->handle = fake_handle_new(FAKE_NODE, node);
    node->op = op;
    fake_set_join(&node->dependencies, dependencies);
    struct fake_node **nodes = fake_alloc((graph->n_nodes + 1) * sizeof(struct fake_node *));
    if (graph->n_nodes)
        memcpy(nodes, graph->nodes, graph->n_nodes * sizeof(struct fake_node *));
    nodes[graph->n_nodes] = node;
    free(graph->nodes);
    graph->nodes = nodes;
    graph->n_nodes++;
    return node;
}

void fake_graph_free(struct fake_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        struct fake_node *node = graph->nodes[i];
        fake_handle_free(node->handle);
        fake_set_clear(&node->dependencies);
        fake_op_free(node->op);
        free(node);
    }
    fake_handle_free(graph->handle);
    free(graph->nodes);
    free(graph);
}

static CUresult destroy(CUgraph handle)
{
    struct fake_graph *graph = fake_object(FAKE_GRAPH, handle);
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    fake_graph_free(graph);
    return CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
    const struct fake_graph *graph = fake_object(FAKE_GRAPH, handle);
    if (!graph || !n)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < *n; i++)
        nodes[i] = i < graph->n_nodes ? graph->nodes[i]->handle : NULL;
    if (!nodes || graph->n_nodes < *n)
        *n = graph->n_nodes;
    return CUDA_SUCCESS;
}

/* --- what is launched ------------------------------------------------------------------------ */

static CUresult instantiate(CUgraphExec *handle, CUgraph graph_handle)
{
    const struct fake_graph *graph = fake_object(FAKE_GRAPH, graph_handle);
    if (!graph || !handle)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_exec *exec = fake_alloc(sizeof(*exec));
    exec->ops = fake_alloc((graph->n_nodes + 1) * sizeof(struct fake_op *));
    exec->n_ops = graph->n_nodes;
    for (size_t i = 0; i < graph->n_nodes; i++)
        exec->ops[i] = fake_op_copy(graph->nodes[i]->op);
    exec->handle = fake_handle_new(FAKE_EXEC, exec);
    *handle = exec->handle;
    return CUDA_SUCCESS;
}

static void free_exec(struct fake_exec *exec)
{
    for (size_t i = 0; i < exec->n_ops; i++)
        fake_op_free(exec->ops[i]);
    fake_handle_free(exec->handle);
    free(exec->ops);
    free(exec);
}

static CUresult destroy_exec(CUgraphExec handle)
{
    struct fake_exec *exec = fake_object(FAKE_EXEC, handle);
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    free_exec(exec);
    return CUDA_SUCCESS;
}

/* An event that was destroyed since is passed over. */
static CUresult launch_op(struct fake_stream *stream, const struct fake_op *op)
{
    if (op->kind == FAKE_EVENT_NODE && !stream->capture) {
        struct fake_event *event = fake_object(FAKE_EVENT, op->event);
        if (event)
            fake_event_record(event, stream);
        return CUDA_SUCCESS;
    }
    return fake_submit(stream, fake_op_copy(op));
}

static CUresult launch(CUgraphExec handle, CUstream stream_handle)
{
    const struct fake_exec *exec = fake_object(FAKE_EXEC, handle);
    struct fake_stream *stream;
    CUresult result = fake_stream_get(stream_handle, &stream);
    if (result == CUDA_SUCCESS && !exec)
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; result == CUDA_SUCCESS && i < exec->n_ops; i++)
        result = launch_op(stream, exec->ops[i]);
    return result;
}

static void clear_graph(void *object, void *data)
{
    (void)data;
    fake_graph_free(object);
}

static void clear_exec(void *object, void *data)
{
    (void)data;
    free_exec(object);
}

void fake_graphs_clear(void)
{
    fake_each(FAKE_GRAPH, clear_graph, NULL);
    fake_each(FAKE_EXEC, clear_exec, NULL);
}

FAKE_ENTRY(cuGraphInstantiate_v2,
           (CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *text, size_t size),
           ((void)node, (void)text, (void)size, instantiate(exec, graph)))
FAKE_ENTRY(cuGraphInstantiateWithFlags,
           (CUgraphExec *exec, CUgraph graph, unsigned long long flags),
           flags ? CUDA_ERROR_NOT_SUPPORTED : instantiate(exec, graph))
FAKE_ENTRY(cuGraphLaunch, (CUgraphExec exec, CUstream stream), launch(exec, stream))
FAKE_ENTRY(cuGraphExecDestroy, (CUgraphExec exec), destroy_exec(exec))
FAKE_ENTRY(cuGraphDestroy, (CUgraph graph), destroy(graph))
FAKE_ENTRY(cuGraphGetNodes, (CUgraph graph, CUgraphNode *nodes, size_t *n),
           get_nodes(graph, nodes, n))
