// The server as this page sees it: JSON in and out, an answer line by line, and failures in words.

/** A refusal: `status` 0 where nothing answered. `retryS` is when to come again, or 0. */
export class Refusal extends Error {
  constructor(status, text, retryS = 0) {
    super(text)
    this.status = status
    this.retryS = retryS
  }
}

let key = ''

/** The API key of every request from now on; empty for none. */
export function useKey(text) {
  key = text.trim()
}

function bodyOf(value) {
  if (value === undefined) return {}
  return { method: 'POST', body: JSON.stringify(value) }
}

async function request(path, { value, signal, accept } = {}) {
  const headers = {}
  if (key) headers.Authorization = 'Bearer ' + key
  if (accept) headers.Accept = accept
  let answer
  try {
    answer = await fetch(path, { ...bodyOf(value), headers, signal, cache: 'no-store' })
  } catch (error) {
    throw error.name === 'AbortError' ? error : new Refusal(0, '')
  }
  if (!answer.ok) throw await refusalOf(answer)
  return answer
}

async function refusalOf(answer) {
  const retryS = Number(answer.headers.get('retry-after')) || 0
  try {
    const { error } = await answer.json()
    return new Refusal(answer.status, error.message || error, retryS)
  } catch {
    return new Refusal(answer.status, answer.statusText, retryS)
  }
}

/** The JSON that a path answers. */
export async function ask(path, value) {
  return (await request(path, { value })).json()
}

/** A whole file of sound as a Blob, of the media type that `accept` names. */
export async function file(value, accept, signal) {
  return (await request('/api/generate', { value, accept, signal })).blob()
}

/**
 * The lines of POST /api/generate. An error line is thrown, and so is an answer that stops without
 * its last line.
 */
export async function* speak(value, signal) {
  const answer = await request('/api/generate', { value, signal })
  let done = false
  for await (const text of lines(answer.body)) {
    const line = JSON.parse(text)
    if (line.error) throw new Refusal(200, line.error)
    done = line.done
    yield line
  }
  if (!done) throw new Refusal(0, '')
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await next(reader)
    if (done) return
    const parts = (rest + value).split('\n')
    rest = parts.pop()
    yield* parts
  }
}

async function next(reader) {
  try {
    return await reader.read()
  } catch (error) {
    throw error.name === 'AbortError' ? error : new Refusal(0, '')
  }
}

/** Base64 of signed 16-bit little-endian samples as Int16Array. */
export function samplesOf(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  const samples = new Int16Array(bytes.length >> 1)
  for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true)
  return samples
}
