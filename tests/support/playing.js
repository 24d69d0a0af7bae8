// Two players of a web page, for tests: `<audio>` on an address, and MediaSource fed by hand.
window.played = {} // by name: {began, ended, error, at}: whether it began, where it is

function watched(name, audio) {
  const told = (window.played[name] = { began: false, ended: false, error: '', at: 0 })
  audio.ontimeupdate = () => {
    told.at = audio.currentTime
    told.began ||= audio.currentTime > 0
    if (told.began) audio.playbackRate = 8 // tests have little time
  }
  audio.onended = () => {
    told.at = audio.currentTime
    told.ended = true
  }
  audio.onerror = () => (told.error = audio.error.message || String(audio.error.code))
  audio.play().catch((error) => (told.error = String(error)))
  return told
}

window.playAddress = (name) => {
  const audio = new Audio('/' + name)
  watched(name, audio)
}

window.playSource = async (url, body, mediaType) => {
  const source = new MediaSource()
  const audio = new Audio(URL.createObjectURL(source))
  const told = watched(mediaType, audio)
  await new Promise((done) => source.addEventListener('sourceopen', done, { once: true }))
  const buffer = source.addSourceBuffer(mediaType)
  const append = (bytes) =>
    new Promise((done, fail) => {
      buffer.addEventListener('updateend', done, { once: true })
      buffer.addEventListener('error', fail, { once: true })
      buffer.appendBuffer(bytes)
    })
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  const half = bytes.length >> 1
  await append(bytes.slice(0, half))
  while (!told.began) await new Promise((done) => setTimeout(done, 10))
  await append(bytes.slice(half))
  source.endOfStream()
}
