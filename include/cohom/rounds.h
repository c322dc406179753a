#ifndef COHOM_ROUNDS_H
#define COHOM_ROUNDS_H
/* Rounds in C: a codec without a transport. rounds.hpp says what steps, options and errors are;
   docs/rounds.md has an example. Functions that return int return 0 or more, or one of the error
   codes below, whose text cohom_rounds_error() has. One thread at a time may use an object. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of vectors. */
enum { COHOM_F32 = 0, COHOM_F16 = 1, COHOM_BF16 = 2, COHOM_F64 = 3 };

/* Errors. */
enum {
  COHOM_INVALID_ARGUMENT = -1,
  COHOM_UNSUPPORTED = -2,
  COHOM_MISMATCH = -3, /* ranks called with different arguments */
  COHOM_WRONG_STATE = -4,
  COHOM_NO_MEMORY = -5,
  COHOM_TRANSPORT = -6 /* words that no ranks can have sent */
};

/* What is given for an option; added up. */
enum {
  COHOM_ROUNDS_MEAN = 1,         /* the mean over ranks; else the sum */
  COHOM_ROUNDS_ALL_TO_ALL = 2,   /* contributions go to owners: fewer bytes for 3 ranks and more */
  COHOM_ROUNDS_NO_BIT_OR = 4,    /* no all_reduce by bitwise or */
  COHOM_ROUNDS_NO_SMALL_MAX = 8, /* no all_reduce by maximum of unsigned numbers of 8 and 16 bits */
  COHOM_ROUNDS_NO_UNSIGNED = 16, /* numbers of 32 and 64 bits are signed */
  COHOM_ROUNDS_CHECK_ONCE = 32,  /* only the first call compares the ranks' arguments */
  /* With neither of these: an allreduce. */
  COHOM_ROUNDS_REDUCE_SCATTER = 64, /* rank r gets part r of the sum */
  COHOM_ROUNDS_ALLGATHER = 128      /* nothing is added: all ranks get the parts of all */
};

/* Kinds of a step, all of which any call may have; operations and types of all_reduce. */
enum { COHOM_ALL_REDUCE = 0, COHOM_ALL_TO_ALL = 1, COHOM_ALL_GATHER = 2 };
enum { COHOM_ADD = 0, COHOM_BIT_OR = 1, COHOM_MAX = 2 };
enum { COHOM_U8 = 0, COHOM_U16 = 1, COHOM_U32 = 2, COHOM_U64 = 3, COHOM_I32 = 4, COHOM_I64 = 5 };

/* What a rank has to do next. Pointers hold until the next call of cohom_rounds_next(). */
struct cohom_round_step {
  int kind;
  const char* name; /* of the round */

  /* COHOM_ALL_REDUCE: `words` become, in place, the result of `operation` over ranks. */
  int operation;
  int type; /* words are `numbers` of this type */
  size_t numbers;
  uint64_t* words;

  /* The others: counts of words, by rank (of COHOM_ALL_GATHER send_counts has one). Parts lie one
     behind the other. */
  const uint64_t* send;
  const size_t* send_counts;
  uint64_t* receive;
  const size_t* receive_counts;
};

struct cohom_rounds;

/* Makes `*rounds`: of vectors of `count` elements of `type` on each of `ranks`, or of parts of so
   many. `codec`: a spec such as "thc:bits=4". On an error it is null, and cohom_rounds_error(NULL)
   says why. */
int cohom_rounds_make(const char* codec, size_t count, int type, int rank, int ranks,
                      unsigned options, struct cohom_rounds** rounds);
/* Null is none. */
void cohom_rounds_free(struct cohom_rounds* rounds);

/* Begins a call. `step` numbers calls, alike on all ranks. Errors come out of the next function. */
int cohom_rounds_begin(struct cohom_rounds* rounds, const void* input, void* output, uint64_t step);
/* 1: `*step` is what to do next. 0: the output is there. Errors behind the first step are the same
   on all ranks; of later ones you tell the others. */
int cohom_rounds_next(struct cohom_rounds* rounds, struct cohom_round_step* step);

/* What the codec keeps between calls: its bytes, 0 for none. Copy them to save them. */
size_t cohom_rounds_state(struct cohom_rounds* rounds, void** bytes);
/* The text of the last error of `rounds`; of null: of cohom_rounds_make() in this thread. */
const char* cohom_rounds_error(const struct cohom_rounds* rounds);

/* The library's version, such as "0.1.0"; the names of all codecs, with blanks between them. */
const char* cohom_version(void);
const char* cohom_codec_names(void);

#ifdef __cplusplus
}
#endif
#endif
