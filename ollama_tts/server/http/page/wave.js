// The waveform: one peak for every 10 ms, drawn in columns that fill the width.

const PEAK_S = 0.01
const COLUMN_PX = 3
const SHORTEST_S = 3 // a shorter sound does not fill the width while it grows

export class Wave {
  constructor(canvas) {
    this.canvas = canvas
    this.clear(24000)
  }

  /** Forget the sound; the next one has another rate. */
  clear(rateHz) {
    this.rateHz = rateHz
    this.bucket = Math.max(1, Math.round(PEAK_S * rateHz))
    this.peaks = []
    this.taken = 0
  }

  /** Take in what of Int16Array [length] is new. */
  take(samples, length) {
    for (; this.taken + this.bucket <= length; this.taken += this.bucket) {
      let peak = 0
      for (let i = this.taken; i < this.taken + this.bucket; i++) {
        peak = Math.max(peak, Math.abs(samples[i]))
      }
      this.peaks.push(peak / 32768)
    }
  }

  /** Draw everything; what lies before `positionS` in the accent colour. */
  draw(positionS, durationS, complete) {
    const { canvas } = this
    const scale = globalThis.devicePixelRatio || 1
    const width = canvas.clientWidth
    const height = canvas.clientHeight
    canvas.width = width * scale
    canvas.height = height * scale
    const pen = canvas.getContext('2d')
    pen.scale(scale, scale)
    const style = getComputedStyle(canvas)
    const [played, coming] = ['--accent', '--wave'].map((name) => style.getPropertyValue(name))
    const wholeS = complete ? durationS : Math.max(durationS, SHORTEST_S)
    const columns = Math.floor(width / COLUMN_PX)
    for (let column = 0; column < columns; column++) {
      const fromS = (column / columns) * wholeS
      if (fromS > durationS) break
      const tall = Math.max(2, this.#peak(fromS, wholeS / columns) * (height - 8))
      pen.fillStyle = fromS < positionS ? played : coming
      pen.fillRect(column * COLUMN_PX, (height - tall) / 2, COLUMN_PX - 1, tall)
    }
    return wholeS
  }

  #peak(fromS, lengthS) {
    const first = Math.floor(fromS / PEAK_S)
    const last = Math.max(first + 1, Math.floor((fromS + lengthS) / PEAK_S))
    let peak = 0
    for (let i = first; i < last && i < this.peaks.length; i++) peak = Math.max(peak, this.peaks[i])
    return peak
  }
}
