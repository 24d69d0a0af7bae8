// Which word is being heard. The server says when each utterance begins and what of the text it
// speaks; inside an utterance the words share its time by their length.

const FIRST_GUESS_S = 0.07 // per letter, until an utterance has ended
const WIDE = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/ // one such character is a syllable or more

function weightOf(text) {
  let weight = 0
  for (const char of text) weight += WIDE.test(char) ? 3 : /\d/.test(char) ? 2 : 1
  return weight
}

/** The words of a text as [start, end) pairs of UTF-16 offsets, in order. */
export function wordsOf(text, language) {
  const segments = new Intl.Segmenter(language || undefined, { granularity: 'word' }).segment(text)
  return [...segments]
    .filter((segment) => segment.isWordLike)
    .map(({ index, segment }) => [index, index + segment.length])
}

export class Follower {
  /** Shows `text` in `box`, a span a word. `text` may grow: see `extend`. */
  constructor(box, text, language) {
    this.box = box
    this.language = language
    this.text = ''
    this.words = [] // {start, end, span}
    this.utterances = [] // {startS, endS | null, words: [index, …], weights: [end of each]}
    this.found = 0 // how far in the text utterances were found
    this.next = 0 // the first word that no utterance has taken
    this.current = -1
    box.replaceChildren()
    this.extend(text)
  }

  /** Put more text at the end. */
  extend(text) {
    const offset = this.text.length
    const parts = []
    let at = 0
    for (const [start, end] of wordsOf(text, this.language)) {
      const span = document.createElement('span')
      span.textContent = text.slice(start, end)
      parts.push(text.slice(at, start), span)
      this.words.push({ start: offset + start, end: offset + end, span })
      at = end
    }
    this.box.append(...parts, text.slice(at))
    this.text += text
  }

  /** An utterance begins: at `startS` of the sound, and speaks `text`. */
  begin(text, startS) {
    const before = this.utterances.at(-1)
    if (before) before.endS = startS
    const at = this.#find(text)
    const words = []
    const weights = []
    for (; this.next < this.words.length; this.next++) {
      const { start, end } = this.words[this.next]
      if (end > at + text.length) break
      if (start < at) continue
      words.push(this.next)
      weights.push(weightOf(this.text.slice(at, end)))
    }
    this.utterances.push({ startS, endS: null, words, weights, weight: weightOf(text) })
  }

  /** The sound is complete, and so long. */
  finish(durationS) {
    const last = this.utterances.at(-1)
    if (last) last.endS = durationS
  }

  /** Mark the word at a place of the sound; `receivedS` is how much there is. Returns its span. */
  show(positionS, receivedS, jumped = false) {
    const word = this.#wordAt(positionS, receivedS)
    const index = jumped ? word : Math.max(word, this.current)
    if (index === this.current) return null
    for (let i = Math.max(0, this.current); i < index; i++) this.words[i].span.className = 'said'
    for (let i = index + 1; i <= this.current && i < this.words.length; i++) {
      this.words[i].span.removeAttribute('class')
    }
    this.current = index
    const now = this.words[index]
    if (!now) return null
    now.span.className = 'now'
    return now.span
  }

  /** Everything was heard. */
  end() {
    for (const { span } of this.words) span.className = 'said'
    this.current = this.words.length
  }

  #find(text) {
    let at = this.text.indexOf(text, this.found)
    if (at < 0) {
      at = this.text.length
      this.extend(text)
    }
    this.found = at + text.length
    return at
  }

  #wordAt(positionS, receivedS) {
    const utterance = this.utterances.findLast(({ startS }) => startS <= positionS)
    if (!utterance || !utterance.words.length) return this.current
    const { startS, words, weights, weight } = utterance
    const endS = utterance.endS ?? Math.max(receivedS, startS + weight * this.#secondsPerWeight())
    const reached = ((positionS - startS) / (endS - startS)) * weight
    const place = weights.findIndex((end) => reached < end)
    return words.at(place)
  }

  #secondsPerWeight() {
    const over = this.utterances.filter(({ endS }) => endS !== null)
    const weight = over.reduce((sum, each) => sum + each.weight, 0)
    return weight ? over.reduce((sum, each) => sum + each.endS - each.startS, 0) / weight : FIRST_GUESS_S
  }
}
