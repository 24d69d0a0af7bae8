"""`GET /ui/`: one page that speaks. No file, no library, nothing from elsewhere."""

import base64
import hashlib

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark; }
label { display: block; margin-top: .8rem; }
textarea, select, input { width: 100%; box-sizing: border-box; font: inherit; padding: .4rem; }
textarea { min-height: 8rem; }
button, a { font: inherit; margin: 1rem .5rem 0 0; padding: .4rem 1.2rem; }
#said { min-height: 1.5rem; }
"""

_SCRIPT = """
const $ = (id) => document.getElementById(id)
let playing = null

function headers() {
  const key = $('key').value.trim()
  return key ? { Authorization: 'Bearer ' + key } : {}
}

async function ask(path) {
  const answer = await fetch(path, { headers: headers() })
  const body = await answer.json()
  if (!answer.ok) throw new Error(body.error.message || body.error)
  return body
}

function fill(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)))
}

async function listVoices() {
  const { voices } = await ask('/v1/audio/voices?model=' + encodeURIComponent($('model').value))
  const entries = voices.map((voice) => [voice.id, voice.name + ' (' + voice.language + ')'])
  fill($('voice'), [['', 'default'], ...entries])
}

async function listModels() {
  const { models } = await ask('/api/tags')
  fill($('model'), models.map((model) => [model.name, model.name]))
  if (models.length) await listVoices()
}

class Player {
  constructor() {
    this.context = new AudioContext()
    this.at = 0
    this.parts = []
    this.abort = new AbortController()
  }
  play(base64, rate) {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    if (bytes.length < 2) return
    this.parts.push(bytes)
    const view = new DataView(bytes.buffer)
    const buffer = this.context.createBuffer(1, bytes.length >> 1, rate)
    const samples = buffer.getChannelData(0)
    for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(2 * i, true) / 32768
    const source = this.context.createBufferSource()
    source.buffer = buffer
    source.connect(this.context.destination)
    this.at = Math.max(this.at, this.context.currentTime + 0.05)
    source.start(this.at)
    this.at += buffer.duration
  }
  stop() {
    this.abort.abort()
    this.context.close()
  }
}

function wav(parts, rate) {
  const size = parts.reduce((sum, part) => sum + part.length, 0)
  const view = new DataView(new ArrayBuffer(44))
  const text = (at, word) => [...word].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)))
  text(0, 'RIFF'); view.setUint32(4, 36 + size, true); text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true); view.setUint16(20, 1, true); view.setUint16(22, 1, true)
  view.setUint32(24, rate, true); view.setUint32(28, 2 * rate, true)
  view.setUint16(32, 2, true); view.setUint16(34, 16, true)
  text(36, 'data'); view.setUint32(40, size, true)
  return new Blob([view, ...parts], { type: 'audio/wav' })
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\\n')
    rest = parts.pop()
    for (const part of parts) yield JSON.parse(part)
  }
}

async function speak() {
  stop()
  const player = playing = new Player()
  $('save').hidden = true
  const options = { audio_format: 'pcm', speed: Number($('speed').value) }
  if ($('voice').value) options.voice = $('voice').value
  const answer = await fetch('/api/generate', {
    method: 'POST',
    headers: headers(),
    signal: player.abort.signal,
    body: JSON.stringify({ model: $('model').value, prompt: $('text').value, options }),
  })
  if (!answer.ok) throw new Error((await answer.json()).error)
  let rate = 24000
  for await (const line of lines(answer.body)) {
    if (line.error) throw new Error(line.error)
    rate = line.audio.sample_rate
    if (line.audio.text) $('said').textContent = line.audio.text
    player.play(line.response, rate)
    if (line.done) $('said').textContent =
      line.audio.duration_s.toFixed(1) + ' s, first sound after ' +
      line.audio.first_audio_ms.toFixed(0) + ' ms'
  }
  $('save').href = URL.createObjectURL(wav(player.parts, rate))
  $('save').hidden = false
}

function stop() {
  if (playing) playing.stop()
  playing = null
}

const guarded = (work) => () => Promise.resolve(work()).catch((error) => {
  if (error.name !== 'AbortError') $('said').textContent = error.message
})
$('speak').onclick = guarded(speak)
$('stop').onclick = stop
$('model').onchange = guarded(listVoices)
$('key').onchange = guarded(listModels)
guarded(listModels)()
"""

_PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>ollama-tts</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>ollama-tts</h1>
<label for="text">Text</label>
<textarea id="text">Hello. This is a text that is spoken while it is being made.</textarea>
<label for="model">Model</label><select id="model"></select>
<label for="voice">Voice</label><select id="voice"></select>
<label for="speed">Speed</label>
<input id="speed" type="number" min="0.5" max="2" step="0.1" value="1">
<label for="key">API key, if the server needs one</label>
<input id="key" type="password" autocomplete="off">
<button id="speak">Speak</button><button id="stop">Stop</button>
<a id="save" download="speech.wav" hidden>Save</a>
<p id="said" role="status"></p>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


_POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


async def page(request: Request) -> Response:  # noqa: ARG001
    """The page; nothing but its own script and style may run in it."""
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}
    return HTMLResponse(_PAGE, headers=headers)
