// What the stock JavaScript client sees of a server: node ollama_js.mjs URL TEXT
import { Ollama } from 'ollama'

const [host, prompt] = process.argv.slice(2)
const client = new Ollama({ host })
const messages = [{ role: 'user', content: prompt }]

async function collect(stream, text) {
  const parts = []
  for await (const part of await stream) parts.push(text(part))
  return parts
}

async function messageOf(work) {
  try {
    await work()
  } catch (error) {
    return error.message
  }
  return 'no error'
}

const whole = await client.generate({ model: 'tone', prompt })
const seen = {
  generate: whole.response,
  audio: whole.audio,
  generate_stream: (
    await collect(client.generate({ model: 'tone', prompt, stream: true }), (p) => p.response)
  ).join(''),
  chat: (await client.chat({ model: 'tone', messages })).message.content,
  chat_stream: (
    await collect(client.chat({ model: 'tone', messages, stream: true }), (p) => p.message.content)
  ).join(''),
  pull: await collect(client.pull({ model: 'tone', stream: true }), (p) => p.status),
  create: await collect(
    client.create({ model: 'mine', from: 'tone', stream: true }), (p) => p.status,
  ),
  list: (await client.list()).models.map((model) => model.name),
  ps: (await client.ps()).models.map((model) => model.name),
  model_info: (await client.show({ model: 'tone' })).model_info,
  error: await messageOf(() => client.generate({ model: 'nope', prompt })),
  stream_error: await messageOf(async () =>
    collect(client.pull({ model: 'nobody/nothing', stream: true }), (p) => p.status),
  ),
}
await client.copy({ source: 'mine', destination: 'yours' })
await client.delete({ model: 'mine' })
console.log(JSON.stringify(seen))
