// What was heard, as a file: samples that are here already, or the same take from the server.

import { file } from '/ui/api.js'

/** Media type of each format, for Accept. */
export const MEDIA = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
  pcm: 'audio/pcm',
}

const LONG_S = 600 // files of longer sound are streamed: the server holds no such answer whole

/** A take in a format, as a Blob. */
export async function fileOf({ player, request, written }, format) {
  const samples = player.samples.subarray(0, player.length)
  if (format === 'pcm') return new Blob([pcm(samples)], { type: MEDIA.pcm })
  if (format === 'wav') return wav(samples, player.rateHz)
  const options = { ...request.options, audio_format: format }
  if (written) options.llm = '' // what a language model said is said again, not asked again
  const prompt = written || request.prompt
  const stream = player.durationS > LONG_S
  return file({ ...request, prompt, options, stream }, MEDIA[format])
}

/** Let the browser save a Blob under a name. */
export function offer(blob, name) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** A WAV file, as a Blob, of Int16Array samples. */
function wav(samples, rateHz) {
  const view = new DataView(new ArrayBuffer(44))
  const text = (at, word) => [...word].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)))
  const size = 2 * samples.length
  text(0, 'RIFF')
  view.setUint32(4, 36 + size, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rateHz, true)
  view.setUint32(28, 2 * rateHz, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data')
  view.setUint32(40, size, true)
  return new Blob([view, pcm(samples)], { type: 'audio/wav' })
}

/** Int16Array samples as little-endian bytes. */
function pcm(samples) {
  const view = new DataView(new ArrayBuffer(2 * samples.length))
  samples.forEach((sample, i) => view.setInt16(2 * i, sample, true))
  return view.buffer
}
