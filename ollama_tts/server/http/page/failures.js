// What went wrong, in the user's words.

import { Refusal } from '/ui/api.js'

/** An error as a text; `midSound` says that part of the sound had come before. */
export function inWords(error, words, midSound) {
  if (!(error instanceof Refusal)) return `${words.soundless} ${error.message}`
  if (error.status === 0) return midSound ? words.broke : words.down
  if (error.status === 401) return words.locked
  if (error.status === 503) return `${words.busy(error.retryS || 1)}\n${error.message}`
  const theirs = error.status >= 400 && error.status < 500
  return `${theirs ? words.refused : words.failed} ${error.message}`
}
