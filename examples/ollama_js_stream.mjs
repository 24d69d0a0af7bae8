// Stream speech through the official JavaScript client, unmodified. Fields that it does not know,
// like `audio`, come through.
//
//   npm install ollama && node examples/ollama_js_stream.mjs hello.wav

import { createWriteStream } from 'node:fs'
import process from 'node:process'
import { Ollama } from 'ollama'

const ollama = new Ollama({ host: process.env.OLLAMA_HOST ?? 'http://127.0.0.1:11434' })
const file = createWriteStream(process.argv[2] ?? 'hello.wav')

const parts = await ollama.generate({
  model: 'hibari',
  prompt: 'Every chunk says which words it speaks. This is the second sentence.',
  stream: true,
})
for await (const part of parts) {
  file.write(Buffer.from(part.response, 'base64'))
  if (part.audio.text) console.log(`${part.audio.start_s.toFixed(2)} s: ${part.audio.text}`)
  if (part.done) console.log(`${part.audio.duration_s.toFixed(2)} s in all`)
}
file.end()
