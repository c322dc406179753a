#ifndef COHOM_MPIX_H
#define COHOM_MPIX_H
/* The C API: compressed reductions. Every function returns MPI_SUCCESS or an error code, after
 * the communicator's error handler has been called with it; MPI_Error_string gives the text that
 * names the argument, its value and what would be right (until the next error of the same kind). An
 * error of a collective function is the same on all ranks. */

#include <cohom/version.h>

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): C */
typedef struct MPIX_Compressed_request_s* MPIX_Compressed_request;
typedef struct MPIX_Compressed_plan_s* MPIX_Compressed_plan;
typedef struct MPIX_Compressed_exact_s* MPIX_Compressed_exact;
/* NOLINTEND(modernize-use-using) */
#define MPIX_COMPRESSED_REQUEST_NULL ((MPIX_Compressed_request)0)
#define MPIX_COMPRESSED_PLAN_NULL ((MPIX_Compressed_plan)0)
#define MPIX_COMPRESSED_EXACT_NULL ((MPIX_Compressed_exact)0)

/* Datatypes that MPI lacks: IEEE binary16 and bfloat16, 2 bytes each. Valid after MPI_Init; do not
 * free them. */
MPI_Datatype MPIX_Float16(void);
MPI_Datatype MPIX_Bfloat16(void);

/* *comm := the ranks of this rank's own program, to be used in place of MPI_COMM_WORLD in jobs of
 * several programs, such as `mpirun -n 4 app : -n 1 cohom-aggregator`: there MPI_COMM_WORLD holds
 * the aggregator, too. Calls on it and on its duplicates that name no aggregator go to the job's.
 * Do not free it. The first call is collective over MPI_COMM_WORLD, before any other on it. */
int MPIX_Program_comm(MPI_Comm* comm);

/* recvbuf := sum over all ranks of sendbuf (MPI_IN_PLACE: of recvbuf), `count` elements.
 * datatype: MPI_FLOAT, MPI_DOUBLE, what MPI_Type_dup and MPI_Type_contiguous make of these,
 * MPIX_Float16(), MPIX_Bfloat16(). op: MPI_SUM.
 * info: MPI_INFO_NULL or any of the keys
 *   cohom_codec      codec spec, e.g. "thc:bits=4"         (else environment COHOM_CODEC, else thc)
 *   cohom_algorithm  name or "auto"                        (else COHOM_ALGORITHM, else auto)
 *   cohom_segment    elements of a segment                 (else COHOM_SEGMENT, else by transport)
 *   cohom_op         "sum" or "mean"
 *   cohom_buffer     name of the buffer, needed by codecs that keep state (error feedback)
 *   cohom_aggregator HOST:PORT of an aggregator in the network (else COHOM_AGGREGATOR, else none)
 *   cohom_transport  "mpi" or "ucx", in the first call on comm (else COHOM_TRANSPORT, else mpi)
 *   cohom_timeout    seconds without progress that are an error (else COHOM_TIMEOUT, else never)
 *   cohom_checksum   "on": messages are checked              (else COHOM_CHECKSUM, else off)
 *   cohom_threads    threads that encode, merge and decode beside the caller's: a number or "auto",
 *                    by the cores that are the rank's alone   (else COHOM_THREADS, else auto)
 *   cohom_progress   "thread": calls advance in a thread of the library, too, which needs
 *                    MPI_THREAD_MULTIPLE or UCX              (else COHOM_PROGRESS, else "call")
 *   cohom_native     "auto": blocking calls go by MPI's own reductions, or by another algorithm
 *                    than the table's, if faster; "never", "always". Results are then MPI's, or
 *                    the codec's                            (else COHOM_NATIVE, else "auto")
 * Variables of the environment are read in the first call on comm.
 * Other keys that start with cohom_ are an error; keys of others are ignored.
 * Buffers may lie in the host's memory or in a GPU's, here and in all functions below; ranks must
 * have the same kind unless cohom_segment is given. Of a GPU's the call first waits for all that
 * the GPU has to do. Collective over comm. All ranks get bit-identical results, but where
 * MPI makes the sum itself (native, fabric). */
int MPIX_Allreduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info);

/* The same without blocking. Several may be in flight on one communicator, started in the same
 * order on all ranks. Buffers must stay untouched until test or wait says it is complete. Errors of
 * the arguments come from test or wait, on all ranks (a null `request` alone at once).
 * A call advances while its ranks are in functions of this library, not in MPI's: a rank that
 * blocks in MPI before its wait keeps the others waiting (but see cohom_progress). */
int MPIX_Iallreduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                               MPIX_Compressed_request* request);

/* recvbuf := part r, on rank r, of the sum over all ranks of sendbuf, which has as many parts of
 * `recvcount` elements as there are ranks; MPI_IN_PLACE: of recvbuf, which then has them all. What
 * is said of allreduce's arguments is so here. By algorithms ring and direct, with the codecs that
 * cohom-info names, no rank gets others' parts; else each keeps its part of an allreduce
 * (<cohom/reductions.hpp>). Collective over comm. */
int MPIX_Reduce_scatter_block_compressed(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                         MPI_Info info);
int MPIX_Ireduce_scatter_block_compressed(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                          MPI_Info info, MPIX_Compressed_request* request);

/* recvbuf, on rank `root`, := sum over all ranks of sendbuf, which may be MPI_IN_PLACE on the root.
 * On others recvbuf means nothing. The rest as of reduce_scatter_block. */
int MPIX_Reduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                           MPI_Info info);
int MPIX_Ireduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                            MPI_Info info, MPIX_Compressed_request* request);

/* recvbuf := the parts of all ranks, in the order of ranks, each as one rank alone would get its
 * vector back: compressed once, and with the same bits on all ranks. sendcount and sendtype must be
 * what recvcount and recvtype are; with MPI_IN_PLACE for sendbuf, where this rank's part lies in
 * recvbuf already, they mean nothing. Nothing is added: cohom_op=mean and codecs with error
 * feedback are errors. <cohom/reductions.hpp> says more. Collective over comm. */
int MPIX_Allgather_compressed(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm, MPI_Info info);
int MPIX_Iallgather_compressed(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Info info, MPIX_Compressed_request* request);

/* Local. *flag := 1 when the call is complete, well or with the error that is returned: then the
 * request is freed and set to MPIX_COMPRESSED_REQUEST_NULL; else 0. A null request is complete.
 * Advances every call of the communicator. */
int MPIX_Compressed_test(MPIX_Compressed_request* request, int* flag);
/* Blocks until the call is complete, then as above. Returns its error. */
int MPIX_Compressed_wait(MPIX_Compressed_request* request);

/* Several requests, of any communicators of the thread; null ones are complete. Local, and each
 * request is freed as above when its call is complete, well or with an error: every error goes to
 * its communicator's handler, and the first one is returned. (MPI lets nobody free the request of a
 * collective call before it is complete, and there is no function for that here either.)
 * waitall: blocks until all are complete. testall: *flag := 1 when all are complete, else 0.
 * waitany: blocks until one is; *index := its number, or MPI_UNDEFINED where all are null.
 * testany: the same without blocking; *flag := 0, and *index MPI_UNDEFINED, when none is. */
int MPIX_Compressed_waitall(int count, MPIX_Compressed_request requests[]);
int MPIX_Compressed_testall(int count, MPIX_Compressed_request requests[], int* flag);
int MPIX_Compressed_waitany(int count, MPIX_Compressed_request requests[], int* index);
int MPIX_Compressed_testany(int count, MPIX_Compressed_request requests[], int* index, int* flag);
/* Local: advances all calls in flight on comm, without blocking. */
int MPIX_Compressed_progress(MPI_Comm comm);

/* A plan for repeated calls with vectors of `count` elements; the other arguments as above, the key
 * cohom_buffer is not needed: a plan keeps its own state. Collective; blocks until all ranks agree.
 * On an error *plan stays as it was. */
int MPIX_Compressed_plan_create(MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                MPI_Info info, MPIX_Compressed_plan* plan);
/* The same for calls of reduce_scatter_block and of reduce. */
int MPIX_Compressed_reduce_scatter_block_plan_create(MPI_Count recvcount, MPI_Datatype datatype,
                                                     MPI_Op op, MPI_Comm comm, MPI_Info info,
                                                     MPIX_Compressed_plan* plan);
int MPIX_Compressed_reduce_plan_create(MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root,
                                       MPI_Comm comm, MPI_Info info, MPIX_Compressed_plan* plan);
/* The same for calls of allgather, in which each rank sends `count` elements. */
int MPIX_Compressed_allgather_plan_create(MPI_Count count, MPI_Datatype datatype, MPI_Comm comm,
                                          MPI_Info info, MPIX_Compressed_plan* plan);
/* Starts a call of the plan, without blocking. Collective. Buffers as above; their errors come from
 * test or wait. A plan has one call in flight at a time: starting it twice is an error at once,
 * which the other ranks get too. */
int MPIX_Compressed_plan_start(MPIX_Compressed_plan plan, const void* sendbuf, void* recvbuf);
/* Local. *flag := 1 when no call is in flight (any more), also when it ended with the error that is
 * returned; else 0. */
int MPIX_Compressed_plan_test(MPIX_Compressed_plan plan, int* flag);
/* Blocks until the call in flight is complete; at once when there is none. Returns its error. */
int MPIX_Compressed_plan_wait(MPIX_Compressed_plan plan);
/* Start and wait. Collective. */
int MPIX_Compressed_plan_execute(MPIX_Compressed_plan plan, const void* sendbuf, void* recvbuf);
/* State between calls (error feedback). All three are local, and errors while a call is in flight.
 * save: *bytes is the size of `state` on entry and the bytes needed on return; with state NULL only
 * the size is asked. restore: what save gave, on all ranks their own, to a plan of the same codec,
 * count and datatype. reset: as after creation. */
int MPIX_Compressed_plan_save_state(MPIX_Compressed_plan plan, void* state, MPI_Count* bytes);
int MPIX_Compressed_plan_restore_state(MPIX_Compressed_plan plan, const void* state,
                                       MPI_Count bytes);
int MPIX_Compressed_plan_reset_state(MPIX_Compressed_plan plan);
/* Local: *description := a new MPI_Info, which the caller frees, that says what the plan decided:
 * codec, algorithm, other_algorithm (of calls that cannot be offloaded), third_algorithm and
 * third_codec (of calls that go the third way of a race), reason (of the algorithm), not_offloaded
 * (why), bypass ("true": a compressing codec was asked for, and the vector goes as it is), segment
 * (elements), memory, path, workspace_bytes, state_bytes, agreement_rounds. "-" is said of what
 * there is none of; what MPI has no room for ends in "...". */
int MPIX_Compressed_plan_describe(MPIX_Compressed_plan plan, MPI_Info* description);
/* The same of what an allreduce with these arguments would do. Collective, as the creation of a
 * plan. */
int MPIX_Compressed_describe(MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                             MPI_Info info, MPI_Info* description);
/* Waits for a call in flight, frees the plan and sets *plan to MPIX_COMPRESSED_PLAN_NULL (which may
 * be freed, too). Local, but for that call. A plan or request may outlive its communicator; freeing
 * the last one of a freed communicator is collective. */
int MPIX_Compressed_plan_free(MPIX_Compressed_plan* plan);

/* The same for the state kept under a buffer name (key cohom_buffer) on a communicator. They wait
 * for calls in flight with that name and are local but for that, and for a restore that is the
 * first use of comm (after a restart): that one is collective. */
int MPIX_Compressed_save_state(MPI_Comm comm, const char* buffer, void* state, MPI_Count* bytes);
int MPIX_Compressed_restore_state(MPI_Comm comm, const char* buffer, const void* state,
                                  MPI_Count bytes);
int MPIX_Compressed_reset_state(MPI_Comm comm, const char* buffer);

/* A sum to which each rank contributes any number of vectors of `count` elements, none too: exact,
 * rounded once to nearest, ties to even. The same vectors give the same bits however they are dealt
 * to ranks, and on any number of ranks. create, add, reset and free are local.
 * create: without vectors. It belongs to no communicator. On an error *exact stays as it was.
 * add: another vector, which is read at once. After an error nothing was added, but where memory
 * was missing: then calls are errors until reset.
 * allreduce: recvbuf := the sum over all vectors of all ranks, or with the key cohom_op=mean their
 * mean; without any vector 0, the mean NaN. Vectors stay: later calls include them. op: MPI_SUM.
 * info as above, but for cohom_codec: "exact" or none, and COHOM_CODEC is not read. There are at
 * most 2^32 - 1 vectors in all, and each rank adds at most its share of them. Collective over comm.
 * reset: forgets all vectors; memory stays for the next ones.
 * Errors of the local functions go to the error handler of MPI_COMM_WORLD. buf and recvbuf are no
 * MPI_IN_PLACE. One thread at a time.
 * free: sets *exact to MPIX_COMPRESSED_EXACT_NULL (which may be freed, too). */
int MPIX_Compressed_exact_create(MPI_Count count, MPI_Datatype datatype,
                                 MPIX_Compressed_exact* exact);
int MPIX_Compressed_exact_add(MPIX_Compressed_exact exact, const void* buf);
int MPIX_Compressed_exact_allreduce(MPIX_Compressed_exact exact, void* recvbuf, MPI_Op op,
                                    MPI_Comm comm, MPI_Info info);
int MPIX_Compressed_exact_reset(MPIX_Compressed_exact exact);
int MPIX_Compressed_exact_free(MPIX_Compressed_exact* exact);

/* What the library is and has counted. All are local.
 * get_version: of the library that runs; COHOM_VERSION_... are those of this header. At any time.
 * codecs: *codecs := a new MPI_Info, which the caller frees: names of codecs, and a line on each.
 * counter: *value := what this rank has counted on comm so far: bytes_sent, messages_sent,
 * native_calls, third_calls (by third_algorithm), bypassed_calls, offloaded_calls,
 * offloaded_calls_repeated, offloaded_calls_declined, offloaded_bytes. 0 before the first call. */
int MPIX_Compressed_get_version(int* major, int* minor, int* patch);
int MPIX_Compressed_codecs(MPI_Info* codecs);
int MPIX_Compressed_counter(MPI_Comm comm, const char* name, MPI_Count* value);

#ifdef __cplusplus
}
#endif
#endif
