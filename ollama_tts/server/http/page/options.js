// The fields of all options, from the server's own table.

import { OPTIONS_ZH } from '/ui/tongues.js'

const ELSEWHERE = new Set(['voice', 'speed', 'audio_format'])
const GROUPS = {
  sound: ['language', 'latency', 'normalize', 'pause_ms', 'gain_db', 'sample_rate'],
  chance: ['seed', 'temperature', 'top_k', 'top_p', 'repeat_penalty', 'num_predict', 'min_predict'],
  chattts: ['refine_text', 'oral', 'laugh', 'break'],
}

function groupOf(option) {
  if (option.when === 'load') return 'load'
  return Object.keys(GROUPS).find((name) => GROUPS[name].includes(option.name)) ?? 'request'
}

function choice(values) {
  const select = document.createElement('select')
  select.append(...values.map(([value, text]) => new Option(text, value)))
  return select
}

function control(option, words) {
  const shown = (value) => (typeof value === 'boolean' ? (value ? words.yes : words.no) : value)
  const standard =
    option.default === null ? words.byDefault : `${words.byDefault}: ${shown(option.default)}`
  if (option.kind === 'bool') {
    return choice([['', standard], ['true', words.yes], ['false', words.no]])
  }
  if (option.kind === 'choice') {
    return choice([['', standard], ...option.choices.map((name) => [name, name])])
  }
  const input = document.createElement('input')
  input.placeholder = standard
  input.type = option.kind === 'str' ? 'text' : 'number'
  if (option.kind !== 'str') {
    input.step = option.kind === 'int' ? '1' : 'any'
    if (option.minimum !== null) input.min = option.minimum
    if (option.maximum !== null) input.max = option.maximum
  }
  return input
}

function valueOf(option, text) {
  if (option.kind === 'bool') return text === 'true'
  return option.kind === 'int' || option.kind === 'float' ? Number(text) : text
}

export class OptionFields {
  /** Fields in `box` for the rows of `table`; `onChange` is called after each change. */
  constructor(box, table, onChange) {
    this.box = box
    this.table = table.filter(({ name }) => !ELSEWHERE.has(name))
    this.controls = new Map()
    box.addEventListener('input', () => {
      this.#mark()
      onChange()
    })
  }

  /** Write all fields in a language; what was chosen stays. */
  show(words, tongue) {
    const chosen = this.values
    this.controls.clear()
    const names = [...Object.keys(GROUPS), 'request', 'load']
    this.box.replaceChildren(...names.map((name) => this.#group(name, words, tongue)))
    this.values = chosen
  }

  /** The options that are not left at their default. */
  get values() {
    const entries = this.table
      .map((option) => [option, this.controls.get(option.name)?.value ?? ''])
      .filter(([, text]) => text !== '')
      .map(([option, text]) => [option.name, valueOf(option, text)])
    return Object.fromEntries(entries)
  }

  set values(chosen) {
    for (const [name, field] of this.controls) field.value = String(chosen[name] ?? '')
    this.#mark()
  }

  #group(name, words, tongue) {
    const set = document.createElement('fieldset')
    const legend = document.createElement('legend')
    legend.textContent = words.groups[name]
    const rows = this.table.filter((option) => groupOf(option) === name)
    set.append(legend, ...rows.map((option) => this.#field(option, words, tongue)))
    return set
  }

  #field(option, words, tongue) {
    const field = control(option, words)
    field.id = 'option-' + option.name
    const label = document.createElement('label')
    label.htmlFor = field.id
    label.textContent = option.unit ? `${option.name} (${option.unit})` : option.name
    const about = document.createElement('small')
    about.id = 'about-' + option.name
    about.textContent = (tongue === 'zh' && OPTIONS_ZH[option.name]) || option.help.replaceAll('`', '')
    field.setAttribute('aria-describedby', about.id)
    this.controls.set(option.name, field)
    const box = document.createElement('div')
    box.append(label, field, about)
    return box
  }

  #mark() {
    for (const field of this.controls.values()) {
      field.parentElement.classList.toggle('changed', field.value !== '')
    }
  }
}
