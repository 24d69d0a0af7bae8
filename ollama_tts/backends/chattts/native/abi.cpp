#include "abi.h"

#include <new>

#include "model.h"
#include "pool.h"
#include "stages.h"

struct ott_model {
  ott::Model inside;
};
struct ott_pool {
  ott::Pool inside;
};
struct ott_stages {
  ott::Stages inside;
};

namespace {

// Run `call`, with exceptions as statuses: none may cross the C interface.
template <class Call>
int guarded(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OTT_NO_MEMORY;
  } catch (...) {
    return OTT_MISUSE;
  }
}

}  // namespace

extern "C" {

ott_model* ott_new(const ott_shape* shape, int32_t* status) {
  ott_model* model = nullptr;
  *status = guarded([&] {
    model = new ott_model{ott::Model(*shape)};
    return static_cast<int>(OTT_OK);
  });
  return model;
}

void ott_free(ott_model* model) { delete model; }

const char* ott_path(const ott_model* model) { return model->inside.path(); }

int ott_fill(ott_model* model, int part, int layer, int first, int rows, int dtype,
             const void* data) {
  return guarded([&] {
    return model->inside.fill(part, layer, first, rows, static_cast<ott::Dtype>(dtype), data);
  });
}

int ott_ready(const ott_model* model) { return model->inside.ready() ? 1 : 0; }

int ott_start(ott_model* model, const ott_job* job) {
  return guarded([&] { return model->inside.start(*job); });
}

int ott_stop(ott_model* model, int slot) { return model->inside.stop(slot); }

int ott_step(ott_model* model, int chunks, const ott_chunk* chunk, int decodes,
             const int32_t* decode, int32_t* drawn, ott_outcome* outcomes, float* hidden,
             int32_t* codes) {
  return guarded([&] {
    return model->inside.step(chunks, chunk, decodes, decode, drawn, outcomes, hidden, codes);
  });
}

int ott_read(ott_model* model, int slot, int start, int stop, float* hidden, float* logits) {
  return guarded([&] { return model->inside.read(slot, start, stop, hidden, logits); });
}

int64_t ott_weight_bytes(const ott_model* model) {
  return static_cast<int64_t>(model->inside.weight_bytes());
}

int64_t ott_cache_bytes(const ott_model* model, int used) {
  return static_cast<int64_t>(model->inside.cache_bytes(used != 0));
}

float ott_uniform(uint64_t seed, int step, int codebook, int index) {
  return ott::uniform(seed, step, codebook, index);
}

ott_pool* ott_pool_new(int threads, int path, int32_t* status) {
  ott_pool* pool = nullptr;
  *status = guarded([&] {
    pool = new ott_pool{ott::Pool(threads, path)};
    return static_cast<int>(OTT_OK);
  });
  return pool;
}

void ott_pool_free(ott_pool* pool) { delete pool; }

ott_stages* ott_stages_new(const ott_stage* stages, int count, float epsilon, int32_t* status) {
  ott_stages* made = nullptr;
  *status = guarded([&] {
    made = new ott_stages{ott::Stages(stages, count, epsilon)};
    return static_cast<int>(OTT_OK);
  });
  return made;
}

void ott_stages_free(ott_stages* stages) { delete stages; }

int ott_stages_fill(ott_stages* stages, int stage, int part, const float* data) {
  return guarded([&] { return stages->inside.fill(stage, part, data); });
}

int64_t ott_stages_bytes(const ott_stages* stages) {
  return static_cast<int64_t>(stages->inside.bytes());
}

int64_t ott_stages_state_bytes(const ott_stages* stages) {
  return static_cast<int64_t>(stages->inside.state_bytes());
}

void ott_stages_begin(const ott_stages* stages, void* state) { stages->inside.begin(state); }

int ott_stages_push(ott_stages* stages, ott_pool* pool, int streams, const ott_stream* stream,
                    const float* rows, float* made, int32_t* counts) {
  return guarded([&] {
    stages->inside.push(pool->inside, streams, stream, rows, made, counts);
    return static_cast<int>(OTT_OK);
  });
}

}  // extern "C"
