// Which model, and which of its voices.

import { ask } from '/ui/api.js'

const QUICK = 'hibari:latest' // is there from the first start, and fast on any machine
const OTHER = ' other' // no voice has a space in front

export class Picks {
  /** `fields` are the elements model, voice, other, named and none. */
  constructor(fields) {
    this.fields = fields
    this.voices = []
  }

  get model() {
    return this.fields.model.value
  }

  /** The voice by name, or empty for the model's own choice. */
  get voice() {
    const { voice, other } = this.fields
    return voice.value === OTHER ? other.value.trim() : voice.value
  }

  /** What `restore` takes. */
  get state() {
    const { model, voice, other } = this.fields
    return { model: model.value, voice: voice.value, other: other.value }
  }

  /** Ask the server what there is, and choose what was chosen before. */
  async fetch(state, words, tongue) {
    const { models } = await ask('/v1/audio/models')
    ;({ voices: this.voices } = await ask('/v1/audio/voices'))
    const names = models.map(({ id }) => id)
    const { model, other, none } = this.fields
    model.replaceChildren(...names.map((name) => new Option(name.replace(/:latest$/, ''), name)))
    none.hidden = names.length > 0
    model.value = names.includes(state.model) ? state.model : this.#first(names, tongue)
    other.value = state.other ?? ''
    this.show(words, tongue, state.voice)
  }

  /** List the model's voices, those of the page's language first; `chosen` stays if it is there. */
  show(words, tongue, chosen = this.fields.voice.value) {
    const { voice } = this.fields
    const mine = this.voices.filter(({ model }) => model === this.model)
    const tags = [...new Set(mine.map(({ language }) => language))]
    tags.sort((a, b) => (b === tongue) - (a === tongue))
    const groups = tags.map((tag) => groupOf(tag, mine, words))
    voice.replaceChildren(new Option(words.anyVoice, ''), ...groups, new Option(words.other, OTHER))
    const known = chosen === OTHER || mine.some(({ id }) => id === chosen)
    voice.value = known ? chosen : ''
    this.unfold()
  }

  /** Change to a model that speaks a language, if this one does not. */
  suit(tongue) {
    const { model } = this.fields
    const names = [...model.options].map(({ value }) => value)
    if (!this.#speaks(this.model, tongue)) model.value = this.#first(names, tongue)
  }

  /** The language for an example: English where the model is known to lack the page's. */
  spoken(tongue) {
    const lacks = !this.#speaks(this.model, tongue) && this.#speaks(this.model, 'en')
    return lacks ? 'en' : tongue
  }

  /** Show the field for a voice's name where one is wanted. */
  unfold() {
    this.fields.named.hidden = this.fields.voice.value !== OTHER
  }

  /** One that speaks the page's language; `tone` is for tests. */
  #first(names, tongue) {
    const real = names.filter((name) => !name.startsWith('tone:'))
    real.sort((a, b) => (b === QUICK) - (a === QUICK))
    return real.find((name) => this.#speaks(name, tongue)) ?? real[0] ?? names[0] ?? ''
  }

  #speaks(name, tongue) {
    return this.voices.some(({ model, language }) => model === name && language === tongue)
  }
}

function groupOf(tag, voices, words) {
  const group = document.createElement('optgroup')
  group.label = words.languages[tag] ?? tag
  const here = voices.filter(({ language }) => language === tag)
  group.append(...here.map(({ id, name }) => new Option(name, id)))
  return group
}
