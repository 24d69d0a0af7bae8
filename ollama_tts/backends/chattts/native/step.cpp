// One step: the plan of its phases, and what it leaves behind.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "model.h"

namespace ott {
namespace {

// Items of a product for each thread: few, so that each reads a long stretch of weights, and more
// than one, so that a slow thread is helped.
constexpr int kItems = 4;

}  // namespace

bool Model::fits(int slot, int start, int stop) const {
  return live(slot) && start == jobs_[slot].read && stop > start && stop <= jobs_[slot].prompt;
}

int Model::step(int chunks, const ott_chunk* chunk, int decodes, const int32_t* decode,
                int32_t* drawn, ott_outcome* outcomes, float* hidden, int32_t* codes) {
  rows_.clear();
  draws_.clear();
  for (int i = 0; i < decodes; i++) {
    if (!live(decode[i])) return OTT_MISUSE;
    const Job& job = jobs_[decode[i]];
    if (job.drawn < 1 || job.read >= shape_.positions) return OTT_MISUSE;
    draws_.push_back((int)rows_.size());
    rows_.push_back(Row{decode[i], job.read});
  }
  for (int i = 0; i < chunks; i++) {
    const ott_chunk& c = chunk[i];
    if (!fits(c.slot, c.start, c.stop)) return OTT_MISUSE;
    for (int p = c.start; p < c.stop; p++) rows_.push_back(Row{c.slot, p});
    if (c.stop == jobs_[c.slot].prompt) draws_.push_back((int)rows_.size() - 1);
  }
  if (!reserve()) return OTT_NO_MEMORY;
  const auto texts = std::stable_partition(draws_.begin(), draws_.end(), [this](int row) {
    return !jobs_[rows_[row].slot].text;
  });
  const int speech = (int)(texts - draws_.begin());

  auto plan = std::make_shared<Plan>();
  plan_layers(*plan);
  plan_heads(*plan, hidden, speech);
  plan_draws(*plan, speech);
  crew_.run(plan);

  for (const Row& row : rows_) jobs_[row.slot].read = row.position + 1;
  for (size_t i = 0; i < draws_.size(); i++)
    outcomes[i] = commit((int)i, codes + i * shape_.codebooks);
  *drawn = (int32_t)draws_.size();
  return OTT_OK;
}

int Model::read(int slot, int start, int stop, float* hidden, float* logits) {
  if (!fits(slot, start, stop)) return OTT_MISUSE;
  rows_.clear();
  draws_.clear();
  for (int p = start; p < stop; p++) {
    draws_.push_back((int)rows_.size());
    rows_.push_back(Row{slot, p});
  }
  if (!reserve()) return OTT_NO_MEMORY;
  const bool text = jobs_[slot].text;
  auto plan = std::make_shared<Plan>();
  plan_layers(*plan);
  plan_heads(*plan, hidden, text ? 0 : (int)draws_.size());
  crew_.run(plan);
  jobs_[slot].read = stop;
  const size_t width = text ? shape_.texts : (size_t)shape_.codebooks * shape_.codes;
  for (size_t i = 0; i < draws_.size(); i++)
    memcpy(logits + i * width, logits_.as<float>() + i * logits_width_, width * sizeof(float));
  return OTT_OK;
}

bool Model::reserve() {
  for (const Row& row : rows_)
    if (!cache_.reserve(row.slot, row.position + 1)) return false;
  const size_t rows = rows_.size(), hidden = shape_.hidden;
  const size_t widest = std::max(shape_.hidden, shape_.inner);
  bool text = false;
  for (const int row : draws_) text = text || jobs_[rows_[row].slot].text;
  logits_width_ = std::max(shape_.codebooks * shape_.codes, text ? shape_.texts : 0);
  try {
    for (Buffer* buffer : {&x_, &normed_, &attended_}) buffer->reserve(rows * hidden * 4);
    qkv_.reserve(rows * hidden * 12);
    gated_.reserve(rows * shape_.inner * 4);
    values_.reserve(rows * widest * 4);
    scales_.reserve(rows * widest / 16 * 4);
    sums_.reserve(rows * widest / 16 * 8);
    logits_.reserve(draws_.size() * logits_width_ * 4);
    picks_.resize(draws_.size() * shape_.codebooks);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

Input Model::input(const PackedMatrix& matrix, int first_row) const {
  const Matrix& m = matrix.view();
  Input in;
  in.groups = m.groups;
  in.stride = (size_t)m.inputs * 4;
  in.values = values_.as() + (size_t)first_row * in.stride;
  in.scales = scales_.as<float>() + (size_t)first_row * m.groups;
  in.sums = sums_.as<int32_t>() + (size_t)first_row * m.groups * 2;
  return in;
}

// Rows [first_row, first_row + rows) of `from` become inputs of the matrix.
void Model::plan_prepare(Plan& plan, const PackedMatrix& matrix, const float* from, int first_row,
                         int rows) {
  const Matrix* m = &matrix.view();
  plan.add(rows, [this, m, &matrix, from, first_row](int i, int) {
    kernels_.prepare(from + (size_t)(first_row + i) * m->inputs, *m, first_row + i,
                     input(matrix, 0));
  });
}

void Model::plan_product(Plan& plan, const PackedMatrix& matrix, int first_row, int rows,
                         Output out) {
  if (rows == 0) return;
  const Matrix* m = &matrix.view();
  const Input in = input(matrix, first_row);
  const int each = std::max(1, m->panels / (crew_.threads() * kItems));
  plan.add((m->panels + each - 1) / each, [this, m, in, rows, out, each](int i, int) {
    kernels_.multiply(*m, i * each, std::min(m->panels, (i + 1) * each), in, rows, out);
  });
}

void Model::plan_layers(Plan& plan) {
  const int hidden = shape_.hidden;
  plan.add((int)rows_.size(),
           [this, hidden](int i, int) { embed(rows_[i], x_.as<float>() + (size_t)i * hidden); });
  for (int l = 0; l < shape_.layers; l++) plan_layer(plan, l);
}

void Model::plan_layer(Plan& plan, int index) {
  const Layer* layer = &layers_[index];
  const int rows = (int)rows_.size(), hidden = shape_.hidden, inner = shape_.inner;
  float* x = x_.as<float>();
  const auto normalise = [this, x, hidden](const std::vector<float>& gain, const PackedMatrix& to) {
    const PackedMatrix* m = &to;
    const float* g = gain.data();
    return [this, x, hidden, m, g](int i, int) {
      float* y = normed_.as<float>() + (size_t)i * hidden;
      kernels_.normalise(x + (size_t)i * hidden, g, hidden, shape_.epsilon, y);
      kernels_.prepare(y, m->view(), i, input(*m, 0));
    };
  };
  plan.add(rows, normalise(layer->norm_attention, layer->qkv));
  plan_product(plan, layer->qkv, 0, rows,
               Output{qkv_.as<float>(), (size_t)3 * hidden, 3 * hidden, Store::kSet});
  plan_attention(plan, index);
  plan_prepare(plan, layer->output, attended_.as<float>(), 0, rows);
  plan_product(plan, layer->output, 0, rows, Output{x, (size_t)hidden, hidden, Store::kAdd});
  plan.add(rows, normalise(layer->norm_feed, layer->gate_up));
  plan_product(plan, layer->gate_up, 0, rows,
               Output{gated_.as<float>(), (size_t)inner, inner, Store::kGate});
  plan_prepare(plan, layer->down, gated_.as<float>(), 0, rows);
  plan_product(plan, layer->down, 0, rows, Output{x, (size_t)hidden, hidden, Store::kAdd});
}

void Model::plan_attention(Plan& plan, int index) {
  const int heads = shape_.heads, hidden = shape_.hidden;
  plan.add((int)rows_.size(), [this, index, heads, hidden](int i, int) {
    const Row row = rows_[i];
    const float* cosine = &cosine_[(size_t)row.position * head_ / 2];
    const float* sine = &sine_[(size_t)row.position * head_ / 2];
    for (int h = 0; h < heads; h++) {
      float* q = qkv_.as<float>() + (size_t)i * 3 * hidden + h * head_;
      kernels_.remember(q, q + hidden, q + 2 * hidden, cosine, sine, row.position,
                        cache_.at(row.slot, index, h));
    }
  });
  plan.add((int)rows_.size() * heads, [this, index, heads, hidden](int i, int worker) {
    const Row row = rows_[i / heads];
    const int h = i % heads;
    const size_t at = (size_t)(i / heads);
    kernels_.attend(qkv_.as<float>() + at * 3 * hidden + h * head_, cache_.at(row.slot, index, h),
                    row.position + 1, scratch_[worker].scores.data(),
                    attended_.as<float>() + at * hidden + h * head_);
  });
}

void Model::plan_heads(Plan& plan, float* hidden, int speech) {
  const int n = (int)draws_.size(), width = shape_.hidden;
  plan.add(n, [this, hidden, width, speech](int i, int) {
    float* to = hidden + (size_t)i * width;
    kernels_.normalise(x_.as<float>() + (size_t)draws_[i] * width, norm_last_.data(), width,
                       shape_.epsilon, to);
    const PackedMatrix& head = i < speech ? head_code_ : head_text_;
    kernels_.prepare(to, head.view(), i, input(head, 0));
  });
  float* logits = logits_.as<float>();
  const size_t stride = logits_width_;
  plan_product(plan, head_code_, 0, speech,
               Output{logits, stride, shape_.codebooks * shape_.codes, Store::kSet});
  plan_product(plan, head_text_, speech, n - speech,
               Output{logits + speech * stride, stride, shape_.texts, Store::kSet});
}

void Model::plan_draws(Plan& plan, int speech) {
  const int books = shape_.codebooks;
  plan.add(speech * books,
           [this, books](int i, int worker) { draw_one(i / books, i % books, worker); });
  plan.add((int)draws_.size() - speech,
           [this, speech](int i, int worker) { draw_one(speech + i, 0, worker); });
}

void Model::draw_one(int index, int codebook, int worker) {
  const Job& job = jobs_[rows_[draws_[index]].slot];
  const int books = job.text ? 1 : shape_.codebooks;
  int32_t recent[kWindow];
  Draw from;
  from.recent_count = std::min(job.drawn, kWindow);
  for (int i = 0; i < from.recent_count; i++)
    recent[i] = job.history[(size_t)(job.drawn - 1 - i) * books + codebook];
  from.recent = recent;
  from.ids = job.text ? shape_.texts : shape_.codes;
  from.end_id = job.text ? shape_.text_end : shape_.code_end;
  from.codebook = codebook;
  from.step = job.drawn;
  from.logits = logits_.as<float>() + (size_t)index * logits_width_ + (size_t)codebook * from.ids;
  picks_[(size_t)index * shape_.codebooks + codebook] =
      draw(job.sampling, from, kernels_, scratch_[worker].draw);
}

ott_outcome Model::commit(int index, int32_t* codes) {
  const int slot = rows_[draws_[index]].slot;
  Job& job = jobs_[slot];
  const int books = job.text ? 1 : shape_.codebooks;
  const int32_t* picks = &picks_[(size_t)index * shape_.codebooks];
  const int32_t end = job.text ? shape_.text_end : shape_.code_end;
  std::fill(codes, codes + shape_.codebooks, 0);
  std::copy(picks, picks + books, codes);
  if (std::find(picks, picks + books, kNotFinite) != picks + books)
    return ott_outcome{slot, OTT_FAILED};
  if (std::find(picks, picks + books, end) != picks + books) return ott_outcome{slot, OTT_END};
  job.history.insert(job.history.end(), picks, picks + books);
  job.drawn++;
  return ott_outcome{slot, OTT_TOKEN};
}

}  // namespace ott
