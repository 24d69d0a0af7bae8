#include "abi.h"

#include <new>

#include "linear.h"
#include "model.h"

struct ott_model {
  ott::Model inside;
};
struct ott_pool {
  ott::Pool inside;
};
struct ott_linear {
  ott::Linear inside;
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

ott_linear* ott_linear_new(int outputs, int inputs, int mode, int wide, int32_t* status) {
  ott_linear* linear = nullptr;
  *status = guarded([&] {
    linear = new ott_linear{ott::Linear(outputs, inputs, ott::format_of(mode, wide != 0))};
    return static_cast<int>(OTT_OK);
  });
  return linear;
}

void ott_linear_free(ott_linear* linear) { delete linear; }

int ott_linear_fill(ott_linear* linear, int first, int rows, int dtype, const void* data) {
  return guarded(
      [&] { return linear->inside.fill(first, rows, static_cast<ott::Dtype>(dtype), data); });
}

int ott_linear_bias(ott_linear* linear, const float* bias) {
  return guarded([&] {
    linear->inside.set_bias(bias);
    return static_cast<int>(OTT_OK);
  });
}

int ott_linear_apply(const ott_linear* linear, ott_pool* pool, int rows, const float* x,
                     float* y) {
  return guarded([&] {
    linear->inside.apply(pool->inside, rows, x, y);
    return static_cast<int>(OTT_OK);
  });
}

int64_t ott_linear_bytes(const ott_linear* linear) {
  return static_cast<int64_t>(linear->inside.bytes());
}

}  // extern "C"
