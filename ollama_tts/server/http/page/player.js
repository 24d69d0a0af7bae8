// Plays samples while they are still arriving, and again from any place.
//
// The samples go to the sound card in blocks that meet on exact sample positions; the audio context
// runs at the samples' own rate, so nothing is resampled at a seam. Where the samples come too late
// the whole time line moves, and a gap is counted. (An AudioWorklet would do too, but browsers have
// it on secure origins only, and a server in the local network is none.)

const LEAD_S = 0.06
const BLOCK_S = 1
const AHEAD_S = 4

export class Player {
  /** `onEnd` is called when the last sample was heard. Made where the user pressed a key. */
  constructor(rateHz, onEnd) {
    this.context = new AudioContext({ sampleRate: rateHz })
    this.rateHz = rateHz
    this.onEnd = onEnd
    this.samples = new Int16Array(rateHz)
    this.length = 0
    this.complete = false
    this.ended = false
    this.gaps = 0
    this.sources = new Set()
    this.next = 0 // the first sample that is not yet on its way to the card
    this.fromS = 0 // where in the sound it was begun, by `seek`
    this.origin = null // when, on the context's clock, sample 0 was or would have been heard
  }

  /** Take more samples, Int16Array. */
  append(samples) {
    while (this.length + samples.length > this.samples.length) this.#grow()
    this.samples.set(samples, this.length)
    this.length += samples.length
    this.#pump()
  }

  /** Nothing more will come. */
  finish() {
    this.complete = true
    this.#pump()
    this.#endIfHeard()
  }

  /** Seconds of sound there are. */
  get durationS() {
    return this.length / this.rateHz
  }

  /** What is heard now, in seconds of the sound. */
  get positionS() {
    if (this.ended) return this.durationS
    if (this.origin === null) return this.next / this.rateHz
    const heard = this.context.currentTime - (this.context.outputLatency || 0) - this.origin
    return Math.max(this.fromS, Math.min(heard, this.next / this.rateHz))
  }

  get paused() {
    return this.context.state !== 'running'
  }

  pause() {
    return this.context.suspend()
  }

  resume() {
    return this.context.resume()
  }

  /** Go on from another place, in seconds. */
  seek(positionS) {
    this.#silence()
    this.next = Math.round(Math.max(0, Math.min(positionS, this.durationS)) * this.rateHz)
    this.fromS = this.next / this.rateHz
    this.ended = false
    this.origin = null
    this.#pump()
    this.#endIfHeard()
  }

  /** Silence, for good. */
  close() {
    this.#silence()
    this.onEnd = () => {}
    return this.context.state === 'closed' ? Promise.resolve() : this.context.close()
  }

  #grow() {
    const larger = new Int16Array(2 * this.samples.length)
    larger.set(this.samples)
    this.samples = larger
  }

  #silence() {
    for (const source of this.sources) {
      source.onended = null
      source.stop()
      source.disconnect()
    }
    this.sources.clear()
  }

  /** Send on what there is: small blocks while little is on its way, larger ones later. */
  #pump() {
    if (this.context.state === 'closed') return
    for (;;) {
      const waiting = this.length - this.next
      const aheadS = this.#aheadS()
      if (!waiting || aheadS > AHEAD_S) return
      if (aheadS > BLOCK_S && waiting < BLOCK_S * this.rateHz && !this.complete) return
      this.#send(Math.min(waiting, BLOCK_S * this.rateHz))
    }
  }

  #aheadS() {
    if (this.origin === null) return 0
    return this.origin + this.next / this.rateHz - this.context.currentTime
  }

  #send(count) {
    if (this.origin === null || this.#aheadS() < 0) {
      if (this.origin !== null) this.gaps += 1
      this.origin = this.context.currentTime + LEAD_S - this.next / this.rateHz
    }
    const buffer = this.context.createBuffer(1, count, this.rateHz)
    const block = buffer.getChannelData(0)
    for (let i = 0; i < count; i++) block[i] = this.samples[this.next + i] / 32768
    const source = this.context.createBufferSource()
    source.buffer = buffer
    source.connect(this.context.destination)
    source.start(this.origin + this.next / this.rateHz)
    source.onended = () => this.#heard(source)
    this.sources.add(source)
    this.next += count
  }

  #heard(source) {
    this.sources.delete(source)
    source.disconnect()
    this.#pump()
    this.#endIfHeard()
  }

  #endIfHeard() {
    if (this.ended || !this.complete || this.next < this.length || this.sources.size) return
    this.ended = true
    this.onEnd()
  }
}
