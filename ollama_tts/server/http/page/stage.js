// What is seen of one speaking: its state, its figures, the waveform, the words.

import { Follower } from '/ui/follow.js'
import { Wave } from '/ui/wave.js'

const NARROW = matchMedia('(max-width: 56rem)') // there the sound stands below what was pressed

const $ = (id) => document.getElementById(id)

export class Stage {
  constructor() {
    this.words = null // the texts of the page's language
    this.take = null
    this.follower = null
    this.wave = new Wave($('wave'))
    this.shown = null // the state that the buttons and the status show
    this.ticking = false
  }

  /** All texts in another language from now on. */
  speakIn(words) {
    this.words = words
    this.show()
  }

  /** A new take has the stage. `text` is what it will say, as far as is known. */
  open(take, text) {
    this.take = take
    this.follow(text)
    $('words').hidden = false
    $('words').scrollTop = 0
    if (NARROW.matches) $('player').scrollIntoView({ block: 'nearest' })
    this.show()
    this.run()
  }

  /** Nothing is on stage. */
  clear() {
    this.take = null
    this.show()
  }

  /** Show a text, of which nothing is said yet. */
  follow(text) {
    this.follower = new Follower($('words'), text, this.take.request.options.language)
  }

  /** A language model wrote text: the first of it stands in the place of the question. */
  wrote(text, first) {
    if (first) this.follow('')
    this.follower.extend(text)
  }

  /** An utterance begins. */
  begin(text, startS) {
    this.follower.begin(text, startS)
  }

  /** More samples have come. */
  more() {
    this.#figures()
    if (this.take.state !== this.shown) this.show()
  }

  /** All samples are there. */
  made() {
    this.follower.finish(this.take.player.durationS)
    this.show()
  }

  /** All was heard. */
  heard() {
    this.follower.end()
    this.show()
    this.draw()
  }

  /** Follow the sound, frame by frame, until it rests. */
  run() {
    if (this.ticking) return
    this.ticking = true
    requestAnimationFrame(() => this.#tick())
  }

  /** The place of the sound was changed by hand. */
  jumped() {
    this.#mark(true)
    this.draw()
    this.run()
  }

  /** Buttons and status, as the take is now. */
  show() {
    const { take } = this
    const player = take?.player
    const rests = Boolean(player?.length && player.paused && !player.ended)
    const going = take && (take.making || (take.state === 'playing' && !rests))
    this.shown = take?.state ?? null
    $('stop').disabled = !going
    for (const id of ['pause', 'seek']) $(id).disabled = !player?.length
    $('save').disabled = !player?.length || take.making
    $('player').dataset.state = take?.state ?? 'idle'
    $('status').textContent = this.words[this.#name(rests)]
    $('pause').textContent = player?.ended ? this.words.again : rests ? this.words.resume : this.words.pause
    if (take) this.#figures()
  }

  /** The waveform and the clock. */
  draw() {
    if (!this.take) return
    const { player, making } = this.take
    if (player.rateHz !== this.wave.rateHz || player.length < this.wave.taken) {
      this.wave.clear(player.rateHz)
    }
    this.wave.take(player.samples, player.length)
    const at = player.positionS
    $('seek').max = this.wave.draw(at, player.durationS, !making)
    $('seek').value = at
    const [here, whole] = [at.toFixed(1), player.durationS.toFixed(1)]
    $('seek').setAttribute('aria-valuetext', this.words.place(here, whole))
    $('clock').textContent = `${here} / ${whole} s`
  }

  #name(rests) {
    if (!this.take) return 'idle'
    return rests && this.take.state !== 'stopped' && !this.take.making ? 'paused' : this.take.state
  }

  #figures() {
    const { figures, player } = this.take
    const shown = (value, text) => (value === undefined ? '–' : text(value))
    $('first').textContent = shown(figures.firstMs, (ms) => `${ms.toFixed(0)} ms`)
    const { factor } = figures
    $('factor').textContent = shown(factor, () => factor.toFixed(factor < 0.1 ? 3 : 2))
    $('times').textContent = factor ? this.words.times((1 / factor).toFixed(1)) : ''
    $('length').textContent = `${player.durationS.toFixed(1)} s`
    $('gaps').textContent = String(player.gaps)
    $('by').textContent = figures.voice || '–'
  }

  #mark(jumped) {
    const { player } = this.take
    const span = this.follower.show(player.positionS, player.durationS, jumped)
    if (!span) return
    const box = $('words')
    const top = span.offsetTop - box.offsetTop
    if (top < box.scrollTop || top + span.offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = top - box.clientHeight / 3
    }
  }

  #tick() {
    this.ticking = false
    if (!this.take) return
    const { player, making } = this.take
    if (player.length && !player.ended) this.#mark(false)
    this.draw()
    if (making || !(player.paused || player.ended)) this.run()
  }
}
