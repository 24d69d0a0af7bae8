// Weights coming in: each part's rows to their place in the packed matrices.
#include <cmath>
#include <vector>

#include "model.h"

namespace ott {
namespace {

// Row n of gate or up, among the interleaved outputs that Store::kGate expects.
int gated_row(int n, bool up) {
  const int half = kPanel / 2;
  return n / half * kPanel + n % half + (up ? half : 0);
}

}  // namespace

int Model::fill(int part, int layer, int first, int rows, Dtype dtype, const void* data) {
  if (part < 0 || part >= OTT_PARTS || layer < 0 || first < 0 || rows < 1) return OTT_MISUSE;
  const bool of_layers = part <= OTT_NORM_FEED;
  const bool of_books = part >= OTT_EMBED_CODE;
  if (layer >= (of_layers ? shape_.layers : of_books ? shape_.codebooks : 1)) return OTT_MISUSE;
  const int hidden = shape_.hidden;
  const int limits[OTT_PARTS] = {hidden, hidden, hidden, hidden, shape_.inner,
                                 shape_.inner, hidden, 1, 1, 1,
                                 1, shape_.texts, shape_.texts, shape_.codes, shape_.codes};
  if (first + rows > limits[part]) return OTT_MISUSE;
  const int width = part == OTT_DOWN ? shape_.inner : part == OTT_ROPE ? head_ / 2 : hidden;

  std::vector<float> row(width);
  for (int i = 0; i < rows; i++) {
    for (int k = 0; k < width; k++) row[k] = read_element(data, dtype, (size_t)i * width + k);
    fill_row(part, layer, first + i, row);
  }
  filled_[part] += rows;
  return OTT_OK;
}

void Model::fill_row(int part, int layer, int n, const std::vector<float>& row) {
  Layer& to = layers_[part <= OTT_NORM_FEED ? layer : 0];
  const float* values = row.data();
  switch (part) {
    case OTT_QUERY:
    case OTT_KEY:
    case OTT_VALUE: return to.qkv.set_row((part - OTT_QUERY) * shape_.hidden + n, values);
    case OTT_OUTPUT: return to.output.set_row(n, values);
    case OTT_GATE:
    case OTT_UP: return to.gate_up.set_row(gated_row(n, part == OTT_UP), values);
    case OTT_DOWN: return to.down.set_row(n, values);
    case OTT_NORM_ATTENTION: to.norm_attention = row; return;
    case OTT_NORM_FEED: to.norm_feed = row; return;
    case OTT_NORM_LAST: norm_last_ = row; return;
    case OTT_ROPE: return fill_rope(row);
    case OTT_EMBED_TEXT: return embed_text_.set_row(n, values);
    case OTT_HEAD_TEXT: return head_text_.set_row(n, values);
    case OTT_EMBED_CODE: return embed_code_.set_row(layer * shape_.codes + n, values);
    case OTT_HEAD_CODE: return head_code_.set_row(layer * shape_.codes + n, values);
    default: return;
  }
}

// The row is the inverse frequencies; the angle is a float product, as torch computes it.
void Model::fill_rope(const std::vector<float>& inverse) {
  for (int p = 0; p < shape_.positions; p++)
    for (size_t d = 0; d < inverse.size(); d++) {
      const float angle = (float)p * inverse[d];
      cosine_[p * inverse.size() + d] = (float)std::cos((double)angle);
      sine_[p * inverse.size() + d] = (float)std::sin((double)angle);
    }
}

}  // namespace ott
