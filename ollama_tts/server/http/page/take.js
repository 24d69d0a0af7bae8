// One speaking: the request, the samples as they come, and what is known of them.

import { samplesOf, speak } from '/ui/api.js'
import { Player } from '/ui/player.js'

/** Sampled voices take a number, so that a download is the same take as what was heard. */
function newSeed() {
  return crypto.getRandomValues(new Uint32Array(1))[0] >> 1
}

export class Take {
  /**
   * `request` is {model, prompt, options}; `rateHz` the rate that its sound will most likely have.
   * `on` is told: wrote(text, first), begin(text, startS), more(), made(), heard().
   */
  constructor(request, rateHz, on) {
    this.request = { ...request, options: { seed: newSeed(), ...request.options } }
    this.on = on
    this.state = 'loading' // then making, playing, and done or stopped
    this.figures = {}
    this.written = '' // what a language model said, where one was asked
    this.abort = new AbortController()
    this.player = this.#open(rateHz)
    this.askedMs = performance.now()
  }

  /** Until all sound has arrived; throws what the server refuses. */
  async run() {
    const options = { ...this.request.options, audio_format: 'pcm' }
    for await (const line of speak({ ...this.request, options }, this.abort.signal)) {
      if (this.state === 'stopped') return
      this.#take(line)
    }
    this.state = 'playing'
    this.player.finish()
    this.on.made()
  }

  get making() {
    return this.state === 'loading' || this.state === 'making'
  }

  /** No further sound, and no further work on the server. */
  stop() {
    if (this.making) {
      this.abort.abort()
      this.player.finish()
      this.player.pause()
      this.state = 'stopped'
    } else if (this.state === 'playing') {
      this.player.pause()
    }
  }

  /** Go on from another place, in seconds. */
  seek(positionS) {
    if (this.state === 'done') this.state = 'playing'
    this.player.seek(positionS)
  }

  /** Silence, for good. */
  close() {
    this.abort.abort()
    this.player.close()
  }

  #open(rateHz) {
    return new Player(rateHz, () => {
      if (this.state === 'playing') this.state = 'done'
      this.on.heard()
    })
  }

  #take(line) {
    const { audio } = line
    if (this.state === 'loading') this.#first(audio)
    if (line.thinking) {
      this.on.wrote(line.thinking, !this.written)
      this.written += line.thinking
    }
    if (audio.text) this.on.begin(audio.text, audio.start_s)
    this.player.append(samplesOf(line.response))
    if (this.player.length) this.#measure(line)
    if (line.done) Object.assign(this.figures, { voice: audio.voice, durationS: audio.duration_s })
    this.on.more()
  }

  #measure(line) {
    const elapsedS = (performance.now() - this.askedMs) / 1000
    this.figures.firstMs ??= 1000 * elapsedS
    const workS = line.done ? (line.total_duration - line.load_duration) / 1e9 : elapsedS
    this.figures.factor = workS / this.player.durationS
  }

  #first(audio) {
    if (audio.sample_rate !== this.player.rateHz) {
      this.player.close()
      this.player = this.#open(audio.sample_rate)
    }
    this.state = 'making'
  }
}
