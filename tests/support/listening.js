// Runs in the page before its own scripts: writes down what is sent to the sound card, whether it
// can be heard, and what the page shows meanwhile.
window.blocks = [] // {when, rateHz, samples}: what was sent to the card
window.seen = [] // {state, word, at}: each change of what is shown, frame by frame
window.heard = [] // states of the page in which its sound was loud

const start = AudioBufferSourceNode.prototype.start
AudioBufferSourceNode.prototype.start = function (when) {
  const { sampleRate, length } = this.buffer
  const samples = Array.from(this.buffer.getChannelData(0), (value) => Math.round(32768 * value))
  window.blocks.push({ when, rateHz: sampleRate, length, samples })
  return start.call(this, when)
}

const connect = AudioNode.prototype.connect
AudioNode.prototype.connect = function (to, ...rest) {
  if (to instanceof AudioDestinationNode) {
    this.context.ear ??= new AnalyserNode(this.context)
    window.ear = this.context.ear
    connect.call(this, window.ear)
  }
  return connect.call(this, to, ...rest)
}

function watch() {
  requestAnimationFrame(watch)
  const player = document.getElementById('player')
  if (!player) return
  const { state } = player.dataset
  const word = document.querySelector('#words .now')?.textContent ?? ''
  const last = window.seen.at(-1)
  if (last?.state !== state || last?.word !== word) window.seen.push({ state, word })
  if (!window.ear) return
  const wave = new Float32Array(window.ear.fftSize)
  window.ear.getFloatTimeDomainData(wave)
  if (wave.some((value) => Math.abs(value) > 0.01)) window.heard.push(state)
}
requestAnimationFrame(watch)
