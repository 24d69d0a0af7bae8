#include "stages.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace ott {
namespace {

constexpr int kTile = 32;     // rows that one item takes through a whole stage, at most
constexpr int kStep = 16;     // a row's width, for vectors of every path

void demand(bool met) {
  if (!met) throw std::invalid_argument("stage");
}

int rounded_up(int n, int step) { return (n + step - 1) / step * step; }

const float* given(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

Stages::Stages(const ott_stage* stages, int count, float epsilon)
    : arena_(0), stages_(count), epsilon_(epsilon) {
  demand(count > 0);
  state_bytes_ = rounded_up(count * (int)sizeof(int32_t), 64);
  for (int i = 0; i < count; i++) {
    Stage& stage = stages_[i];
    const ott_stage& is = stage.is = stages[i];
    const bool block = is.kind == OTT_STAGE_BLOCK;
    demand(is.channels > 0 && is.outputs > 0 && is.kernel > 0 && is.kernel % 2 && is.dilation > 0);
    demand(i == 0 || stages[i - 1].outputs == is.channels);
    demand(is.after != OTT_AFTER_NORM || is.outputs % kStep == 0);
    const Format format = format_of(is.mode, false);
    if (block) {
      demand(is.channels % kStep == 0 && is.inner % kStep == 0 && is.inner > 0);
      demand(is.outputs == is.channels);
      stage.first = PackedMatrix(arena_, is.inner, is.channels, format);
      stage.second = PackedMatrix(arena_, is.channels, is.inner, format);
    } else {
      demand(is.kind == OTT_STAGE_CONV && is.dilation == 1);
      stage.first = PackedMatrix(arena_, is.outputs, rounded_up(is.kernel * is.channels, kStep),
                                 format);
    }
    stage.reach = is.dilation * (is.kernel / 2);
    stage.state_at = state_bytes_;
    state_bytes_ += (size_t)2 * stage.reach * is.channels * sizeof(float);
  }
}

// Where a part's values are kept (null where they are packed), and how many they are.
std::vector<float>* Stages::part_of(Stage& stage, int part, size_t* size) {
  const ott_stage& is = stage.is;
  const bool block = is.kind == OTT_STAGE_BLOCK;
  const size_t first = block ? is.inner : is.outputs, width = is.channels;
  switch (part) {
    case OTT_STAGE_FIRST: *size = first * width * (block ? 1 : is.kernel); return nullptr;
    case OTT_STAGE_FIRST_BIAS: *size = first; return &stage.first_bias;
    case OTT_STAGE_AFTER_SCALE: *size = is.outputs; return &stage.after_scale;
    case OTT_STAGE_AFTER_SHIFT: *size = is.outputs; return &stage.after_shift;
    default: break;
  }
  demand(block);
  switch (part) {
    case OTT_STAGE_SECOND: *size = width * is.inner; return nullptr;
    case OTT_STAGE_SECOND_BIAS: *size = width; return &stage.second_bias;
    case OTT_STAGE_TAPS: *size = (size_t)is.kernel * width; return &stage.taps;
    case OTT_STAGE_TAPS_BIAS: *size = width; return &stage.taps_bias;
    case OTT_STAGE_NORM_SCALE: *size = width; return &stage.norm_scale;
    case OTT_STAGE_NORM_SHIFT: *size = width; return &stage.norm_shift;
    default: throw std::invalid_argument("part");
  }
}

int Stages::fill(int index, int part, const float* data) {
  if (index < 0 || index >= (int)stages_.size()) return OTT_MISUSE;
  Stage& stage = stages_[index];
  size_t size = 0;
  std::vector<float>* values = part_of(stage, part, &size);
  if (values) {
    const bool bias = part == OTT_STAGE_FIRST_BIAS || part == OTT_STAGE_SECOND_BIAS;
    values->assign(bias ? rounded_up((int)size, kPanel) : size, 0.f);
    std::copy(data, data + size, values->begin());
    small_bytes_ += size * sizeof(float);
    return OTT_OK;
  }
  PackedMatrix& matrix = part == OTT_STAGE_FIRST ? stage.first : stage.second;
  const Matrix& m = matrix.view();
  const size_t width = size / m.outputs;
  std::vector<float> row(m.inputs, 0.f);
  for (int i = 0; i < m.outputs; i++) {
    std::copy(data + i * width, data + (i + 1) * width, row.begin());
    matrix.set_row(i, row.data());
  }
  return OTT_OK;
}

void Stages::begin(void* state) const {
  memset(state, 0, state_bytes_);
  for (size_t i = 0; i < stages_.size(); i++) static_cast<int32_t*>(state)[i] = stages_[i].reach;
}

int Stages::kept(const void* state, int index) const {
  return static_cast<const int32_t*>(state)[index];
}

void Stages::plan_turn(Turn& turn, int index, const std::vector<int>& in, int streams,
                       const ott_stream* stream, int threads) const {
  const Stage& stage = stages_[index];
  turn.in = in;
  turn.in_begins.assign(1, 0);
  turn.begins.assign(1, 0);
  turn.out_begins.assign(1, 0);
  std::vector<int> after(streams);      // rows of each stream's state afterwards
  for (int s = 0; s < streams; s++) {
    const int follows = stream[s].follows;
    const int before = follows < 0 ? kept(stream[s].state, index) : after[follows];
    const int context = before + in[s] + (stream[s].last ? stage.reach : 0);
    const int out = std::max(0, context - 2 * stage.reach);
    after[s] = context - out;
    turn.context.push_back(context);
    turn.out.push_back(out);
    for (int i = 0; i < out; i++) turn.window.push_back(turn.begins[s] + i);
    turn.in_begins.push_back(turn.in_begins[s] + in[s]);
    turn.begins.push_back(turn.begins[s] + context);
    turn.out_begins.push_back(turn.out_begins[s] + out);
  }
  const int rows = (int)turn.window.size();
  turn.tile = std::min(kTile, rounded_up(std::max(1, (rows + threads - 1) / threads), 8));
}

// The context of a stream, then those of the streams that go on from its new state.
void Stages::assemble(int index, const Turn& turn, int item, const ott_stream* stream,
                      const float* rows) const {
  const Stage& stage = stages_[index];
  const size_t width = stage.is.channels;
  const ott_stream& one = stream[item];
  float* const begin = context_.as<float>() + turn.begins[item] * width;
  float* to = begin;
  if (one.follows < 0) {
    const int before = kept(one.state, index);
    memcpy(to, static_cast<const char*>(one.state) + stage.state_at,
           before * width * sizeof(float));
    to += before * width;
  } else {
    const int f = one.follows, before = turn.context[f] - turn.out[f];
    memcpy(to, context_.as<float>() + (turn.begins[f + 1] - before) * width,
           before * width * sizeof(float));
    to += before * width;
  }
  memcpy(to, rows + turn.in_begins[item] * width, turn.in[item] * width * sizeof(float));
  to += turn.in[item] * width;
  if (one.last) memset(to, 0, stage.reach * width * sizeof(float));
  if (!one.next) return;
  const int after = turn.context[item] - turn.out[item];
  static_cast<int32_t*>(one.next)[index] = after;
  memcpy(static_cast<char*>(one.next) + stage.state_at, begin + turn.out[item] * width,
         after * width * sizeof(float));
}

void Stages::finish(const Kernels& kernels, const Stage& stage, float* row) const {
  if (stage.is.after == OTT_AFTER_NORM)
    kernels.layer_norm(row, stage.after_scale.data(), stage.after_shift.data(), stage.is.outputs,
                       epsilon_, row);
}

void Stages::convolve(const Kernels& kernels, int index, const Turn& turn, int first, int last,
                      Scratch& scratch, float* made) const {
  const Stage& stage = stages_[index];
  const Matrix& m = stage.first.view();
  const size_t width = stage.is.channels, taken = stage.is.kernel * width;
  const Input in = input_of(m, scratch.values, scratch.scales, scratch.sums);
  for (int row = first; row < last; row++) {
    const float* window = context_.as<float>() + turn.window[row] * width;
    if ((int)taken < m.inputs) {      // rows may not look at what follows their window
      float* padded = scratch.rows.as<float>();
      memcpy(padded, window, taken * sizeof(float));
      memset(padded + taken, 0, (m.inputs - taken) * sizeof(float));
      window = padded;
    }
    kernels.prepare(window, m, row - first, in);
  }
  const size_t outputs = stage.is.outputs;
  const Store store = stage.is.after == OTT_AFTER_GELU ? Store::kGelu : Store::kSet;
  kernels.multiply(m, 0, m.panels, in, last - first,
                   Output{made + first * outputs, outputs, (int)outputs, store,
                          given(stage.first_bias)});
  for (int row = first; row < last; row++) finish(kernels, stage, made + row * outputs);
}

void Stages::transform(const Kernels& kernels, int index, const Turn& turn, int first, int last,
                       Scratch& scratch, float* made) const {
  const Stage& stage = stages_[index];
  const ott_stage& is = stage.is;
  const Matrix &grow = stage.first.view(), &shrink = stage.second.view();
  const size_t width = is.channels, inner = is.inner;
  Input in = input_of(grow, scratch.values, scratch.scales, scratch.sums);
  float* y = scratch.rows.as<float>();
  for (int row = first; row < last; row++) {
    const float* window = context_.as<float>() + turn.window[row] * width;
    kernels.depthwise(window, (int)width, is.dilation, is.kernel, stage.taps.data(),
                      stage.taps_bias.data(), y);
    kernels.layer_norm(y, stage.norm_scale.data(), stage.norm_shift.data(), (int)width, epsilon_,
                       y);
    kernels.prepare(y, grow, row - first, in);
    memcpy(made + row * width, window + stage.reach * width, width * sizeof(float));
  }
  float* g = scratch.inner.as<float>();
  kernels.multiply(grow, 0, grow.panels, in, last - first,
                   Output{g, inner, (int)inner, Store::kGelu, given(stage.first_bias)});
  in = input_of(shrink, scratch.values, scratch.scales, scratch.sums);
  for (int row = first; row < last; row++)
    kernels.prepare(g + (row - first) * inner, shrink, row - first, in);
  kernels.multiply(shrink, 0, shrink.panels, in, last - first,
                   Output{made + first * width, width, (int)width, Store::kAdd,
                          given(stage.second_bias)});
  for (int row = first; row < last; row++) finish(kernels, stage, made + row * width);
}

void Stages::reserve(int threads, const std::vector<Turn>& turns) {
  size_t context = 0, rows = 0, widest = 0;
  for (size_t i = 0; i < stages_.size(); i++) {
    const ott_stage& is = stages_[i].is;
    context = std::max(context, (size_t)turns[i].begins.back() * is.channels);
    rows = std::max(rows, turns[i].window.size() * is.outputs);
    widest = std::max({widest, (size_t)stages_[i].first.view().inputs, (size_t)is.inner});
  }
  context_.reserve(context * sizeof(float));
  rows_.reserve(rows * sizeof(float));
  scratch_.resize(threads);
  for (Scratch& scratch : scratch_) {
    scratch.rows.reserve(widest * sizeof(float));
    scratch.inner.reserve(kTile * widest * sizeof(float));
    scratch.values.reserve(kTile * widest * 4);
    scratch.scales.reserve(kTile * widest / 16 * 4);
    scratch.sums.reserve(kTile * widest / 16 * 8);
  }
}

void Stages::push(Pool& pool, int streams, const ott_stream* stream, const float* rows, float* made,
                  int32_t* counts) {
  const int count = (int)stages_.size(), threads = pool.crew.threads();
  std::vector<Turn> turns(count);
  std::vector<int> in(streams);
  for (int s = 0; s < streams; s++) {
    demand(stream[s].frames >= 0 && stream[s].follows < s);
    demand(stream[s].follows >= 0 || stream[s].state);
    in[s] = stream[s].frames;
  }
  for (int i = 0; i < count; i++) {
    plan_turn(turns[i], i, i ? turns[i - 1].out : in, streams, stream, threads);
  }
  reserve(threads, turns);

  auto plan = std::make_shared<Plan>();
  for (int i = 0; i < count; i++) {
    const Turn* turn = &turns[i];
    const float* from = i ? rows_.as<float>() : rows;
    float* to = i + 1 < count ? rows_.as<float>() : made;
    plan->add(streams, [=](int s, int) {
      if (stream[s].follows >= 0) return;
      assemble(i, *turn, s, stream, from);
      for (int t = s + 1; t < streams; t++)
        if (stream[t].follows == s) assemble(i, *turn, t, stream, from);
    });
    const int total = (int)turn->window.size(), tile = turn->tile;
    const bool block = stages_[i].is.kind == OTT_STAGE_BLOCK;
    plan->add((total + tile - 1) / tile, [=, &pool](int item, int worker) {
      const int first = item * tile, last = std::min(total, first + tile);
      if (block)
        transform(pool.kernels, i, *turn, first, last, scratch_[worker], to);
      else
        convolve(pool.kernels, i, *turn, first, last, scratch_[worker], to);
    });
  }
  pool.crew.run(plan);
  std::copy(turns[count - 1].out.begin(), turns[count - 1].out.end(), counts);
}

}  // namespace ott
