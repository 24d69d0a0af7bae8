#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace ott {
namespace {

const ott_shape& checked(const ott_shape& s) {
  const bool positive = s.hidden > 0 && s.layers > 0 && s.heads > 0 && s.inner > 0 &&
                        s.codebooks > 0 && s.codes > 3 && s.texts > 3 && s.slots > 0 &&
                        s.positions > 0 && s.threads > 0;
  if (!positive || s.hidden % s.heads || s.hidden % 32 || s.inner % 32)
    throw std::invalid_argument("shape");
  const int head = s.hidden / s.heads;
  if (head % 32 || head > kMaxHead) throw std::invalid_argument("head");
  return s;
}

}  // namespace

Model::Model(const ott_shape& shape)
    : shape_(checked(shape)),
      kernels_(kernels_of(shape.path)),
      plain_(format_of(shape.mode, false)),
      wide_(format_of(shape.mode, true)),
      head_(shape.hidden / shape.heads),
      layers_(shape.layers),
      norm_last_(shape.hidden),
      cosine_((size_t)shape.positions * head_ / 2),
      sine_(cosine_.size()),
      head_code_(arena_, shape.codebooks * shape.codes, shape.hidden, wide_),
      head_text_(arena_, shape.texts, shape.hidden, wide_),
      embed_code_(arena_, shape.codebooks * shape.codes, shape.hidden, plain_ == Format::kFloat32),
      embed_text_(arena_, shape.texts, shape.hidden, plain_ == Format::kFloat32),
      filled_(OTT_PARTS),
      cache_(shape.slots, shape.layers, shape.heads, head_, plain_ == Format::kFloat32,
             (size_t)std::max<int64_t>(shape.cache_bytes, 0)),
      jobs_(shape.slots),
      crew_(shape.threads),
      scratch_(shape.threads) {
  const int hidden = shape.hidden;
  for (auto& layer : layers_) {
    layer.qkv = PackedMatrix(arena_, 3 * hidden, hidden, plain_);
    layer.output = PackedMatrix(arena_, hidden, hidden, plain_);
    layer.gate_up = PackedMatrix(arena_, 2 * shape.inner, hidden, plain_);
    layer.down = PackedMatrix(arena_, hidden, shape.inner, wide_);
    layer.norm_attention.resize(hidden);
    layer.norm_feed.resize(hidden);
  }
  for (auto& scratch : scratch_) scratch.scores.resize(shape.positions + kLane);
}

bool Model::ready() const {
  const int64_t h = shape_.hidden, l = shape_.layers, inner = shape_.inner;
  const int64_t codes = (int64_t)shape_.codebooks * shape_.codes, texts = shape_.texts;
  const int64_t wanted[OTT_PARTS] = {h * l, h * l, h * l, h * l, inner * l, inner * l, h * l,
                                     l, l, 1, 1, texts, texts, codes, codes};
  return std::equal(filled_.begin(), filled_.end(), wanted);
}

int Model::start(const ott_job& from) {
  if (from.slot < 0 || from.slot >= shape_.slots || jobs_[from.slot].live) return OTT_MISUSE;
  if (from.prompt < 1 || from.prompt >= shape_.positions || from.injected < 0) return OTT_MISUSE;
  for (int p = 0; p < from.prompt; p++) {
    const int32_t* ids = from.ids + (size_t)p * shape_.codebooks;
    const int places = from.is_text[p] ? 1 : shape_.codebooks;
    const int limit = from.is_text[p] ? shape_.texts : shape_.codes;
    for (int c = 0; c < places; c++)
      if (ids[c] < 0 || ids[c] >= limit) return OTT_MISUSE;
  }
  Job job;
  job.live = true;
  job.text = from.kind == 1;
  job.prompt = from.prompt;
  job.ids.assign(from.ids, from.ids + (size_t)from.prompt * shape_.codebooks);
  job.is_text.assign(from.is_text, from.is_text + from.prompt);
  job.rows.assign(from.rows, from.rows + (size_t)from.injected * shape_.hidden);
  job.rows_at.assign(from.rows_at, from.rows_at + from.injected);
  job.sampling = Sampling{from.temperature, from.top_p, from.top_k, from.penalty,
                          from.min_tokens,  from.seed,  {}};
  if (from.noise)
    job.sampling.noise.assign(from.noise, from.noise + (size_t)shape_.codebooks * shape_.codes);
  if (!cache_.reserve(from.slot, 1)) {
    cache_.release(from.slot);
    return OTT_NO_MEMORY;
  }
  jobs_[from.slot] = std::move(job);
  return OTT_OK;
}

int Model::stop(int slot) {
  if (!live(slot)) return OTT_MISUSE;
  jobs_[slot] = Job();
  cache_.release(slot);
  return OTT_OK;
}

void Model::embed(const Row& row, float* to) const {
  const Job& job = jobs_[row.slot];
  const int width = shape_.hidden, books = shape_.codebooks;
  const auto injected = std::find(job.rows_at.begin(), job.rows_at.end(), row.position);
  if (injected != job.rows_at.end()) {
    const float* from = &job.rows[(size_t)(injected - job.rows_at.begin()) * width];
    std::copy(from, from + width, to);
    return;
  }
  std::fill(to, to + width, 0.f);
  const int made = row.position - job.prompt;
  if (made >= 0 && job.text) return embed_text_.add_to(job.history[made], to);
  if (made < 0 && job.is_text[row.position])
    return embed_text_.add_to(job.ids[(size_t)row.position * books], to);
  const int32_t* codes = made < 0 ? &job.ids[(size_t)row.position * books]
                                  : &job.history[(size_t)made * books];
  for (int c = 0; c < books; c++) embed_code_.add_to(c * shape_.codes + codes[c], to);
}

}  // namespace ott
