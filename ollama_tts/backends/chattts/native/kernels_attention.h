// Attention over the cache, with the vectors of kernels_body.h.
// Included inside a path's namespace, after kernels_body.h.

// Rotary position: halves (d, d + head/2) turn together.
inline void rotate(float* x, const float* cosine, const float* sine, int half) {
  for (int d = 0; d < half; d++) {
    const float a = x[d], b = x[d + half];
    x[d] = a * cosine[d] - b * sine[d];
    x[d + half] = b * cosine[d] + a * sine[d];
  }
}

template <class T>
inline T* keys_at(const HeadCache& c, int position) {
  T* base = (T*)c.blocks[position / c.block_positions] + c.offset;
  return base + (size_t)(position % c.block_positions / kLane) * kLane * c.head;
}
template <class T>
inline T* values_at(const HeadCache& c, int position) {
  T* base = (T*)c.blocks[position / c.block_positions] + c.offset;
  return base + (size_t)(c.block_positions + position % c.block_positions) * c.head;
}

inline void put(float* to, float x) { *to = x; }
inline void put(uint16_t* to, float x) { *to = to_bfloat16(x); }

template <class T>
inline void write_cache(const float* k, const float* v, int position, const HeadCache& c) {
  T* keys = keys_at<T>(c, position) + position % kLane * 2;
  T* values = values_at<T>(c, position);
  for (int d = 0; d < c.head; d++) put(keys + d / 2 * 2 * kLane + d % 2, k[d]);
  for (int d = 0; d < c.head; d++) put(values + d, v[d]);
}

void remember(float* q, float* k, const float* v, const float* cosine, const float* sine,
              int position, const HeadCache& c) {
  rotate(q, cosine, sine, c.head / 2);
  rotate(k, cosine, sine, c.head / 2);
  if (c.wide)
    write_cache<float>(k, v, position, c);
  else
    write_cache<uint16_t>(k, v, position, c);
}

// Scores of 16 positions: q . k for each. Pairs of dimensions alternate between two sums.
inline void score(const float* q, const uint16_t* keys, int head, float* to) {
  for (int j = 0; j < kLaneVecs; j++) {
    Vec sum[4] = {};
    for (int d = 0; d < head; d += 4) {
      const Bits first = load<Bits>(keys + d * kLane + j * kLanes * 2);
      const Bits second = load<Bits>(keys + (d + 2) * kLane + j * kLanes * 2);
      sum[0] += even_half(first) * q[d];
      sum[1] += odd_half(first) * q[d + 1];
      sum[2] += even_half(second) * q[d + 2];
      sum[3] += odd_half(second) * q[d + 3];
    }
    save(to + j * kLanes, (sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
}
inline void score(const float* q, const float* keys, int head, float* to) {
  for (int t = 0; t < kLane; t++) to[t] = 0.f;
  for (int d = 0; d < head; d += 2)
    for (int t = 0; t < kLane; t++) {
      const float* k = keys + d * kLane + t * 2;
      to[t] += q[d] * k[0];
      to[t] += q[d + 1] * k[1];
    }
}

// sum += weight * value for one position; the halves of a bfloat16 pair go to separate sums.
inline void blend(const uint16_t* value, float weight, int head, Vec* sum) {
  for (int d = 0; d < head; d += 2 * kLanes) {
    const Bits pair = load<Bits>(value + d);
    sum[d / kLanes] += even_half(pair) * weight;
    sum[d / kLanes + 1] += odd_half(pair) * weight;
  }
}
inline void blend(const float* value, float weight, int head, Vec* sum) {
  for (int d = 0; d < head; d += kLanes) sum[d / kLanes] += load<Vec>(value + d) * weight;
}
inline void unblend(const uint16_t*, const Vec* sum, int head, float scale, float* out) {
  for (int d = 0; d < head; d += 2 * kLanes)
    for (int i = 0; i < kLanes; i++) {
      out[d + 2 * i] = sum[d / kLanes][i] * scale;
      out[d + 2 * i + 1] = sum[d / kLanes + 1][i] * scale;
    }
}
inline void unblend(const float*, const Vec* sum, int head, float scale, float* out) {
  for (int d = 0; d < head; d += kLanes) save(out + d, sum[d / kLanes] * scale);
}

// Turn scores into unnormalised weights in place; returns their sum.
inline float weigh(float* scores, int count, float scale) {
  for (int t = count; t % kLane; t++) scores[t] = -1e30f;
  const int padded = (count + kLane - 1) / kLane * kLane;
  Vec top = splat(-1e30f);
  for (int t = 0; t < padded; t += kLanes) {
    const Vec s = load<Vec>(scores + t) * scale;
    top = largest(top, s);
    save(scores + t, s);
  }
  const float most = top_of(top);
  Vec sum{};
  for (int t = 0; t < padded; t += kLanes) {
    const Vec e = exponential(load<Vec>(scores + t) - most);
    save(scores + t, e);
    sum += e;
  }
  return total(sum);
}

template <class T, int kHead>
inline void attend_as(const float* q, const HeadCache& c, int count, float* scores, float* out) {
  const int head = kHead ? kHead : c.head;
  for (int t = 0; t < count; t += kLane) {
    const char* values = (const char*)values_at<T>(c, t);   // wanted next, so fetched meanwhile
    for (size_t i = 0; i < (size_t)kLane * head * sizeof(T); i += 64)
      __builtin_prefetch(values + i, 0, 2);
    score(q, keys_at<T>(c, t), head, scores + t);
  }
  const float sum = weigh(scores, count, 1.f / __builtin_sqrtf((float)head));
  Vec even[kMaxHead / kLanes] = {}, odd[kMaxHead / kLanes] = {};
  for (int first = 0; first < count; first += c.block_positions) {
    const T* values = values_at<T>(c, first);
    const int n = count - first < c.block_positions ? count - first : c.block_positions;
    int t = 0;
    for (; t + 2 <= n; t += 2) {
      blend(values + (size_t)t * head, scores[first + t], head, even);
      blend(values + (size_t)(t + 1) * head, scores[first + t + 1], head, odd);
    }
    if (t < n) blend(values + (size_t)t * head, scores[first + t], head, even);
  }
  for (int d = 0; d < head / kLanes; d++) even[d] += odd[d];
  unblend((const T*)nullptr, even, head, 1.f / sum, out);
}

void attend(const float* q, const HeadCache& c, int count, float* scores, float* out) {
  if (c.wide)
    attend_as<float, 0>(q, c, count, scores, out);
  else if (c.head == 64)
    attend_as<uint16_t, 64>(q, c, count, scores, out);
  else
    attend_as<uint16_t, 0>(q, c, count, scores, out);
}
