// The page: what was chosen, what is being said, and in which language all of it is written.

import { Refusal, ask, useKey } from '/ui/api.js'
import { inWords } from '/ui/failures.js'
import { MEDIA, fileOf, offer } from '/ui/files.js'
import { keep, kept } from '/ui/keep.js'
import { loadedLine } from '/ui/loaded.js'
import { OptionFields } from '/ui/options.js'
import { Picks } from '/ui/picks.js'
import { Stage } from '/ui/stage.js'
import { Take } from '/ui/take.js'
import { EXAMPLES, TONGUES } from '/ui/tongues.js'

const $ = (id) => document.getElementById(id)
const REFRESH_MS = 5000
const SEEK_S = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5 }

const before = kept()
const stage = new Stage()
const picks = new Picks({
  model: $('model'), voice: $('voice'), other: $('other'), named: $('named-voice'), none: $('no-models'),
})
let tongue = firstTongue()
let words = TONGUES[tongue]
let options = null
let take = null
let failure = null
let rateHz = 24000 // of the last sound: the next one most likely has the same

const guarded = (work) => (event) => Promise.resolve().then(() => work(event)).catch(fail)
const quietly = (work) => Promise.resolve().then(work).catch(() => {})

// ---- in the user's language

function firstTongue() {
  const asked = new URLSearchParams(location.search).get('lang')
  const wanted = [asked, before.tongue, ...navigator.languages].filter(Boolean)
  return wanted.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in TONGUES) ?? 'en'
}

function translate() {
  words = TONGUES[tongue]
  document.documentElement.lang = tongue === 'zh' ? 'zh-CN' : 'en'
  for (const each of document.querySelectorAll('[data-t]')) each.textContent = words[each.dataset.t]
  for (const each of document.querySelectorAll('[data-t-label]')) {
    each.setAttribute('aria-label', words[each.dataset.tLabel])
  }
  for (const each of document.querySelectorAll('[data-t-placeholder]')) {
    each.placeholder = words[each.dataset.tPlaceholder]
  }
  for (const each of document.querySelectorAll('[data-tongue]')) {
    each.setAttribute('aria-pressed', String(each.dataset.tongue === tongue))
  }
  options?.show(words, tongue)
  picks.show(words, tongue)
  stage.speakIn(words)
  showChoice()
  showFailure()
}

function changeTongue(to) {
  const example = shownExample()
  tongue = to
  if (example) {
    picks.suit(tongue)
    showExample(example)
  }
  translate()
  remember()
  quietly(showLoaded)
}

/** The name of the example that the text is, as long as nobody changed a word of it. */
function shownExample() {
  const named = Object.values(EXAMPLES).flatMap((texts) => Object.entries(texts))
  return named.find(([, text]) => text === $('text').value)?.[0]
}

/** Write an example in the page's language, or in one that the chosen model speaks. */
function showExample(name) {
  if (name) $('text').value = EXAMPLES[picks.spoken(tongue)][name]
}

// ---- failures

function showFailure() {
  const midSound = take?.state === 'stopped' && take.figures.firstMs !== undefined
  $('error').textContent = failure ? inWords(failure, words, midSound) : ''
}

function fail(error) {
  if (error.name === 'AbortError') return
  failure = error
  if (error.status === 401) {
    $('locked').hidden = false
    $('key').focus()
  }
  showFailure()
}

// ---- what was chosen

function chosen() {
  const values = { ...options?.values }
  if (picks.voice) values.voice = picks.voice
  if (Number($('speed').value) !== 1) values.speed = Number($('speed').value)
  return { model: picks.model, prompt: $('text').value, options: values }
}

function showChoice() {
  picks.unfold()
  const speed = Number($('speed').value).toFixed(1) + ' ×'
  $('speed-now').textContent = speed
  $('speed').setAttribute('aria-valuetext', speed)
  $('count').textContent = words.characters([...$('text').value].length)
  const changed = Object.keys(options?.values ?? {}).length
  $('changed').hidden = !changed
  $('changed').textContent = words.changed(changed)
  const json = JSON.stringify(chosen()).replaceAll("'", "'\\''")
  const format = $('format').value
  $('request').textContent =
    `curl ${location.origin}/api/generate -H 'Accept: ${MEDIA[format]}' -o speech.${format} -d '${json}'`
}

function remember() {
  keep({
    tongue, ...picks.state, speed: $('speed').value, format: $('format').value,
    options: options?.values ?? {},
  })
}

function onChoice() {
  showChoice()
  remember()
}

// ---- speaking

async function speak() {
  if (!$('ask').checkValidity()) {
    $('more').open = true
    $('ask').reportValidity()
    return
  }
  forget()
  if (!$('text').value.trim()) {
    $('error').textContent = words.empty
    $('text').focus()
    return
  }
  const request = chosen()
  take = new Take(request, request.options.sample_rate ?? rateHz, stage)
  stage.open(take, request.options.llm ? '' : request.prompt)
  await listen(take)
}

async function listen(mine) {
  try {
    await mine.run()
    rateHz = mine.player.rateHz
  } catch (error) {
    mine.stop()
    if (mine === take) fail(error)
  } finally {
    if (mine === take) stage.show()
    quietly(showLoaded)
  }
}

/** Leave the last take, and what went wrong with it. */
function forget() {
  take?.close()
  take = null
  stage.clear()
  failure = null
  showFailure()
}

function stop() {
  take?.stop()
  stage.show()
}

async function pauseOrGoOn() {
  const { player } = take
  if (player.ended) goTo(0)
  if (player.paused) await player.resume()
  else if (!player.ended) await player.pause()
  stage.show()
  stage.run()
}

function goTo(positionS) {
  take.seek(positionS)
  stage.jumped()
  stage.show()
}

async function save() {
  const mine = take
  const format = $('format').value
  const name = `speech.${format}`
  $('save').disabled = true
  $('status').textContent = words.fetching
  try {
    offer(await fileOf(mine, format), name)
    $('status').textContent = words.saved(name)
  } finally {
    $('save').disabled = !take || take.making
  }
}

// ---- models

async function showModels() {
  await picks.fetch(before, words, tongue)
  showExample(shownExample())
  showChoice()
  await showLoaded()
}

async function showLoaded() {
  const { models } = await ask('/api/ps')
  $('none-loaded').hidden = models.length > 0
  const lines = models.map((model) => loadedLine(model, words, guarded(() => unload(model.name))))
  const shown = [...$('loaded').children].map(({ textContent }) => textContent)
  if (lines.map(({ textContent }) => textContent).join() === shown.join()) return // focus stays
  $('loaded').replaceChildren(...lines)
}

async function unload(name) {
  await ask('/api/generate', { model: name, keep_alive: 0 })
  await showLoaded()
}

// ---- all of it together

async function start() {
  showExample('short')
  $('speed').value = before.speed ?? 1
  $('format').value = before.format ?? 'mp3'
  const about = await ask('/ui/about.json')
  $('version').textContent = `ollama-tts ${about.version}`
  options = new OptionFields($('options'), about.options, onChoice)
  options.show(words, tongue)
  options.values = before.options ?? {}
  translate()
  await showModels()
}

$('ask').noValidate = true
$('ask').onsubmit = (event) => {
  event.preventDefault()
  guarded(speak)()
}
$('stop').onclick = stop
$('pause').onclick = guarded(pauseOrGoOn)
$('seek').oninput = guarded(() => goTo(Number($('seek').value)))
$('seek').onkeydown = guarded((event) => {
  const stepS = SEEK_S[event.key]
  if (!stepS) return
  event.preventDefault()
  goTo(take.player.positionS + stepS)
})
$('save').onclick = guarded(save)
$('model').onchange = guarded(() => {
  picks.show(words, tongue, '')
  showExample(shownExample())
  onChoice()
})
for (const id of ['voice', 'format']) $(id).onchange = onChoice
for (const id of ['other', 'speed', 'text']) $(id).oninput = onChoice
$('reset').onclick = () => {
  options.values = {}
  onChoice()
}
$('key').onchange = guarded(async () => {
  useKey($('key').value)
  failure = null
  showFailure()
  await showModels()
})
for (const button of document.querySelectorAll('[data-example]')) {
  button.onclick = () => {
    showExample(button.dataset.example)
    onChoice()
  }
}
for (const button of document.querySelectorAll('[data-tongue]')) {
  button.onclick = () => changeTongue(button.dataset.tongue)
}
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') stop()
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) $('ask').requestSubmit()
})
addEventListener('resize', () => stage.draw())
setInterval(() => document.hidden || quietly(showLoaded), REFRESH_MS)
translate()
guarded(start)()
