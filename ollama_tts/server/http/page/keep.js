// What this browser remembers of the page: choices, never the text and never the key.

const STORE = 'ollama-tts'

/** What was kept last time, as an object. */
export function kept() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {}
  } catch {
    return {}
  }
}

/** Keep these values, beside what was kept before. */
export function keep(values) {
  try {
    localStorage.setItem(STORE, JSON.stringify({ ...kept(), ...values }))
  } catch {
    // a browser that remembers nothing still speaks
  }
}
