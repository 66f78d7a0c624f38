/** Clients that do not read, or read slowly, while a stream of 52 MB is sent to them. */
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { events } from '../../worker/client/wire.ts'
import { Connection } from '../serve/leaky/connection.ts'
import { memoryOf, runtimes } from '../serve/leaky/process-memory.ts'
import { type LeakyServer, startLeaky } from '../serve/leaky/server.ts'
import { type Incoming, messagesOf, Visitor } from '../serve/leaky/visitor.ts'
import { Witness } from '../serve/leaky/witness.ts'

const lines = 800
const characters = 65_536

/** Bytes that a slow client reads in a millisecond: far fewer than are sent. */
const pace = 8_000
/** Megabytes that a client that does not read may cost beyond one that reads. */
const mostBeyond = 40

test('a client that does not read costs no memory, and loses nothing', async () => {
  const reading = await pour(readOn)
  const stuck = await pour(readNothing)
  expect(stuck.growth - reading.growth).toBeLessThan(mostBeyond)
  expect(stuck.resumedGrowth - reading.resumedGrowth).toBeLessThan(mostBeyond)
})

test('a client that reads slowly is not cut off', async () => {
  expect((await pour(readSlowly)).seen).toBeGreaterThan(lines)
})

type Poured = {
  /** Megabytes, while it was poured. */
  growth: number
  /** Megabytes, until everything was resumed. */
  resumedGrowth: number
  /** How many events came on the client's first connection. */
  seen: number
}

/** What a client has seen of a stream: every event up to this one. */
type Seen = { stream: number; last: number }

/** Resolves at the end of its connection. `said`: when everything has been said on it. */
type Reader = (server: LeakyServer, visitor: Visitor & { session: string }, said: Promise<unknown>) => Promise<Seen>

/** Pours on a client's stream, while the same client and another one make quick calls. Then it comes back for the rest. */
async function pour(read: Reader): Promise<Poured> {
  const before = runtimes()
  await using server = await startLeaky({
    limits: { keepAliveMs: 500 },
    // Nothing may be forgotten.
    log: { maxEvents: 2 * lines, maxCharacters: 2 * lines * characters },
  })
  const own = runtimes().filter((pid) => !before.includes(pid))
  const memory = (when: 'now' | 'most') => own.reduce((sum, pid) => sum + memoryOf(pid)[when], 0)
  const [visitor, other] = [await Visitor.arrive(server.url), await Visitor.arrive(server.url)]
  await Promise.all([pouredSoFar(visitor), pouredSoFar(other)])
  const empty = memory('now')
  const meanwhile = Promise.all([callMeanwhile(visitor), callMeanwhile(other)])
  const seen = await read(server, visitor, meanwhile)
  const growth = memory('most') - empty
  await meanwhile
  const { last } = seen
  await resume(visitor, seen)
  return { growth, resumedGrowth: memory('most') - empty, seen: last }
}

const pouring = { name: 'pour', arguments: { lines, characters, atOnce: 4 } }

/** Reads as fast as it can, as long as the stream goes. */
const readOn: Reader = async (_, visitor) => {
  const seen = { stream: 0, last: 0 }
  await readAfter(await visitor.call(pouring.name, pouring.arguments), seen)
  return seen
}

/** Reads slowly, but all the time. */
const readSlowly: Reader = async (_, visitor) => {
  const seen = { stream: 0, last: 0 }
  const { body } = await visitor.call(pouring.name, pouring.arguments)
  const slow = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      await setTimeout(chunk.length / pace)
      controller.enqueue(chunk)
    },
  })
  await readAfter(new Response((body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(slow)), seen)
  return seen
}

/** Reads where the stream begins, and then nothing until it must have been cut off; then what was on its way. */
const readNothing: Reader = async (server, visitor, said) => {
  using witness = await Witness.arrive(server)
  const connection = await Connection.open(server.url, {
    headers: { 'Mcp-Session-Id': visitor.session },
    message: { id: 'pour', method: 'tools/call', params: pouring },
  })
  await connection.readUntil('data: \n')
  await said
  // Two keep-alives without reading are enough. What the network holds by itself may still grow meanwhile.
  await witness.wait(6)
  await connection.readToEnd()
  const seen = { stream: 0, last: 0 }
  await readAfter(new Response(connection.text), seen)
  if (seen.last > lines) throw new Error('A client that does not read was not cut off')
  return seen
}

/** Makes quick calls until everything has been poured. */
async function callMeanwhile(visitor: Visitor): Promise<void> {
  while ((await pouredSoFar(visitor)) < lines) await setTimeout(20)
}

async function pouredSoFar(visitor: Visitor): Promise<number> {
  const [answer] = await messagesOf(await visitor.call('poured'))
  return Number(answer?.result?.content?.[0]?.text)
}

/** Reads the rest of a stream, with as many connections as it takes. */
async function resume(visitor: Visitor, seen: Seen): Promise<void> {
  // The answer comes after the last line.
  while (seen.last <= lines) {
    const { last } = seen
    const response = await visitor.stream(`${seen.stream}.${last}`)
    if (response.status !== 200) throw new Error(`Resuming after ${last} was answered with ${response.status}`)
    await readAfter(response, seen)
    if (seen.last === last) throw new Error(`Resuming after ${last} brought nothing`)
  }
}

/** Reads a stream until it ends. @throws Error unless each event is the one that comes after the last that was seen */
async function readAfter(response: Response, seen: { stream: number; last: number }): Promise<void> {
  for await (const { id = '', data } of events(response)) {
    const [stream, seq] = id.split('.').map(Number) as [number, number]
    seen.stream = stream
    // A priming event.
    if (data === '') continue
    const said = wordsOf(JSON.parse(data))
    const due = seen.last === lines ? 'poured' : `line ${seen.last}`
    if (seq !== seen.last + 1 || said !== due) throw new Error(`After ${seen.last} came ${id}: ${said}`)
    seen.last = seq
  }
}

function wordsOf({ params, result }: Incoming): string | undefined {
  if (result) return result.content?.[0]?.text
  return (params?.data as { words: string } | undefined)?.words
}
