// What the stock JavaScript client does with models: node ollama_models.mjs URL THERE PLAN
// THERE is a name at a registry; PLAN has `files` and `adapters`, paths to digests of blobs.
import { Ollama } from 'ollama'

const [host, there, plan] = process.argv.slice(2)
const client = new Ollama({ host })
const { files, adapters } = JSON.parse(plan)

async function statuses(stream) {
  const seen = []
  for await (const part of await stream) seen.push(part.status)
  return seen
}

async function digestOf(name) {
  return (await client.list()).models.find((model) => model.name === name)?.digest
}

const seen = {
  made: await statuses(
    client.create({ model: 'made', files, adapters, quantize: 'q8_0', stream: true }),
  ),
  calm: (
    await client.create({ model: 'calm', from: 'made', parameters: { speed: 0.8 }, system: 'calm' })
  ).status,
}
seen.shown = await client.show({ model: 'made' })
seen.parameters = (await client.show({ model: 'calm' })).parameters
await client.copy({ source: 'made', destination: there })
seen.digest = await digestOf('made:latest')
seen.pushed = await statuses(client.push({ model: there, insecure: true, stream: true }))
for (const model of ['made', 'calm', there]) await client.delete({ model })
seen.gone = (await client.list()).models.map((model) => model.name)
seen.pulled = await statuses(client.pull({ model: there, insecure: true, stream: true }))
seen.pulled_again = (await client.pull({ model: there, insecure: true })).status
seen.same = await digestOf(there)
console.log(JSON.stringify(seen))
