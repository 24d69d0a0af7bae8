/* The C interface of the native step; the Python side is native/step.py.
 *
 * A model is used by one thread at a time. Functions that can fail return a status:
 * 0 done, 1 no memory (nothing was changed), 2 the call cannot be meant (a bug of the caller). */
#ifndef OTT_ABI_H
#define OTT_ABI_H

#include <stdint.h>

#if defined(_WIN32)
#define OTT_API __declspec(dllexport)
#else
#define OTT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { OTT_OK = 0, OTT_NO_MEMORY = 1, OTT_MISUSE = 2 };
enum { OTT_FLOAT32 = 0, OTT_FLOAT16 = 1, OTT_BFLOAT16 = 2 };      /* dtypes of given weights */
enum { OTT_MODE_FLOAT32 = 0, OTT_MODE_BFLOAT16 = 1, OTT_MODE_INT8 = 2 };
enum { OTT_PATH_BEST = 0, OTT_PATH_PORTABLE = 1, OTT_PATH_AVX2 = 2, OTT_PATH_AVX512 = 3 };
enum { OTT_TOKEN = 0, OTT_END = 1, OTT_FAILED = 2 };

/* Rows of weights, each of `inputs` values; `layer` is a codebook for the last four. */
enum {
  OTT_QUERY, OTT_KEY, OTT_VALUE, OTT_OUTPUT, OTT_GATE, OTT_UP, OTT_DOWN,
  OTT_NORM_ATTENTION, OTT_NORM_FEED, OTT_NORM_LAST, OTT_ROPE,
  OTT_EMBED_TEXT, OTT_HEAD_TEXT, OTT_EMBED_CODE, OTT_HEAD_CODE,
  OTT_PARTS
};

typedef struct {
  int32_t hidden, layers, heads, inner;
  int32_t codebooks, codes, texts;    /* ids of a codebook, ids of the text vocabulary */
  int32_t code_end, text_end;         /* the ids that end a job of either kind */
  int32_t slots, positions;
  int32_t threads, mode, path;
  float epsilon;
  int64_t cache_bytes;                /* most bytes of keys and values */
} ott_shape;

typedef struct {
  int32_t slot, kind;                 /* kind 0 speech, 1 text */
  int32_t prompt, injected;           /* counts: positions, injected rows */
  const int32_t* ids;                 /* [prompt][codebooks] */
  const uint8_t* is_text;             /* [prompt] */
  const float* rows;                  /* [injected][hidden] */
  const int32_t* rows_at;             /* [injected] */
  float temperature, top_p, penalty;
  int32_t top_k, min_tokens;
  uint64_t seed;
  const float* noise;                 /* NULL, or [codebooks][codes] */
} ott_job;

typedef struct { int32_t slot, start, stop; } ott_chunk;

/* What a drawing row did. */
typedef struct { int32_t slot, kind; } ott_outcome;

typedef struct ott_model ott_model;

/* NULL where the shape or path is not supported (status OTT_MISUSE) or there is no memory. */
OTT_API ott_model* ott_new(const ott_shape* shape, int32_t* status);
OTT_API void ott_free(ott_model* model);
OTT_API const char* ott_path(const ott_model* model);   /* "portable", "avx2" or "avx512" */

/* Fill `rows` rows of a part from row `first` on. */
OTT_API int ott_fill(ott_model* model, int part, int layer, int first, int rows, int dtype,
                     const void* data);
/* 1 where every row of every part has been filled. */
OTT_API int ott_ready(const ott_model* model);

OTT_API int ott_start(ott_model* model, const ott_job* job);
OTT_API int ott_stop(ott_model* model, int slot);

/* One step. Every decode row, then every chunk that reaches its prompt's end, draws: room is needed
 * for that many `outcomes`, `hidden` [n][hidden] (after the last norm, what the head saw) and
 * `codes` [n][codebooks]. `drawn` becomes n, which is the order given here. */
OTT_API int ott_step(ott_model* model, int chunks, const ott_chunk* chunk, int decodes,
                     const int32_t* decode, int32_t* drawn, ott_outcome* outcomes, float* hidden,
                     int32_t* codes);

/* Read prompt positions [start, stop) and give hidden [n][hidden] and logits of every position:
 * [n][codebooks][codes] for kind 0, [n][texts] for kind 1. Nothing is drawn. */
OTT_API int ott_read(ott_model* model, int slot, int start, int stop, float* hidden,
                     float* logits);

OTT_API int64_t ott_weight_bytes(const ott_model* model);
/* What keys and values occupy; `used` 1: only those of live slots. */
OTT_API int64_t ott_cache_bytes(const ott_model* model, int used);
OTT_API float ott_uniform(uint64_t seed, int step, int codebook, int index);

/* Threads for decoder and vocoder; a pool is used by one thread at a time. */
typedef struct ott_pool ott_pool;
OTT_API ott_pool* ott_pool_new(int threads, int path, int32_t* status);
OTT_API void ott_pool_free(ott_pool* pool);

/* Frames of several streams through convolutions and ConvNeXt blocks, for decoder and vocoder. */
enum { OTT_STAGE_CONV = 0, OTT_STAGE_BLOCK = 1 };
enum { OTT_AFTER_NOTHING = 0, OTT_AFTER_GELU = 1, OTT_AFTER_NORM = 2 };
/* A convolution [outputs][kernel * channels], or a block: a convolution of each channel alone
 * ([kernel][channels]), norm, product to `inner`, GELU, product back, and the frame added. */
typedef struct {
  int32_t kind, channels, outputs, kernel, dilation, inner, mode, after;
} ott_stage;
enum {
  OTT_STAGE_FIRST, OTT_STAGE_FIRST_BIAS, OTT_STAGE_SECOND, OTT_STAGE_SECOND_BIAS, OTT_STAGE_TAPS,
  OTT_STAGE_TAPS_BIAS, OTT_STAGE_NORM_SCALE, OTT_STAGE_NORM_SHIFT, OTT_STAGE_AFTER_SCALE,
  OTT_STAGE_AFTER_SHIFT
};
/* One stream of a push: `frames` more frames, after which the stream stands at `next` (NULL: not
 * wanted). It goes on from `state`, which stays as it is, or, where `follows` is not -1, from where
 * that earlier stream of the same push stands afterwards. */
typedef struct {
  const void* state;
  void* next;
  int32_t frames, last, follows;
} ott_stream;
typedef struct ott_stages ott_stages;
OTT_API ott_stages* ott_stages_new(const ott_stage* stages, int count, float epsilon,
                                   int32_t* status);
OTT_API void ott_stages_free(ott_stages* stages);
/* All values of a part of a stage, float32. */
OTT_API int ott_stages_fill(ott_stages* stages, int stage, int part, const float* data);
OTT_API int64_t ott_stages_bytes(const ott_stages* stages);
OTT_API int64_t ott_stages_state_bytes(const ott_stages* stages);
OTT_API void ott_stages_begin(const ott_stages* stages, void* state);
/* `rows` are the streams' frames one after the other; `made` [sum of counts][outputs] what comes
 * out at the end, likewise. A stream gives at most its frames and the reach of all stages. */
OTT_API int ott_stages_push(ott_stages* stages, ott_pool* pool, int streams,
                            const ott_stream* stream, const float* rows, float* made,
                            int32_t* counts);

#ifdef __cplusplus
}
#endif
#endif
