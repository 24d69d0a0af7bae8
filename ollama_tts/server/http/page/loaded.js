// One line of the list of models in memory.

const DAY_MS = 86_400_000

/** A list item for a model of /api/ps, with a button that calls `onUnload`. */
export function loadedLine(model, words, onUnload) {
  const line = document.createElement('li')
  const title = document.createElement('strong')
  title.textContent = model.name.replace(/:latest$/, '')
  const about = document.createElement('span')
  about.className = 'hint'
  about.textContent = [
    `${Math.round(model.size / 1e6)} MB`,
    model.details?.quantization_level,
    place(model, words),
    leaving(model.expires_at, words),
  ].filter(Boolean).join(' · ')
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet far'
  button.textContent = words.unload
  button.setAttribute('aria-label', words.unloadNamed(title.textContent))
  button.onclick = onUnload
  line.append(title, about, button)
  return line
}

function place({ size, size_vram: onGpu }, words) {
  return onGpu && size ? words.onGpu(Math.round((100 * onGpu) / size)) : words.onCpu
}

function leaving(expires, words) {
  const at = new Date(expires)
  if (Number.isNaN(at.getTime()) || at - Date.now() > 365 * DAY_MS) return words.stays
  const clock = { hour: '2-digit', minute: '2-digit' }
  return words.leaves(at.toLocaleTimeString(document.documentElement.lang, clock))
}
