/** Answers what byte streams of the platform do whose readers are slow. */
import { DurableObject, exports } from 'cloudflare:workers'

const writes = 50
const bytesOfWrite = 100_000

/** Writes more than its reader reads. */
export class Writer extends DurableObject {
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined
  #written = 0

  body(): ReadableStream<Uint8Array> {
    const { readable, writable } = new IdentityTransformStream()
    this.#writer = writable.getWriter()
    void this.#write().catch(() => {})
    return readable
  }

  async #write(): Promise<void> {
    for (; this.#written < writes; this.#written += 1) await this.#writer?.write(new Uint8Array(bytesOfWrite))
  }

  async giveUp(): Promise<number> {
    await this.#writer?.abort(new Error('given up')).catch(() => {})
    return this.#written
  }
}

/** Reads at least so many bytes, or to the end. */
async function read(reader: ReadableStreamDefaultReader<Uint8Array>, least: number) {
  let bytes = 0
  try {
    while (bytes < least) {
      const { done, value } = await reader.read()
      if (done) return { bytes, end: 'ends' }
      bytes += value.length
    }
    return { bytes, end: 'goes on' }
  } catch {
    return { bytes, end: 'breaks' }
  }
}

const outcome = (work: Promise<unknown> | undefined) =>
  Promise.resolve(work).then(
    () => 'succeeds',
    () => 'fails',
  )

async function identity(act: 'read' | 'abort' | 'cancel') {
  const { readable, writable } = new IdentityTransformStream()
  const [reader, writer] = [readable.getReader(), writable.getWriter()]
  let isWritten = false
  const writing = writer.write(new Uint8Array(bytesOfWrite)).then(() => {
    isWritten = true
  })
  const write = outcome(writing)
  const { bytes } = await read(reader, 1)
  const isPart = bytes < bytesOfWrite && !isWritten
  if (act === 'abort') void writer.abort(new Error('given up')).catch(() => {})
  if (act === 'cancel') void reader.cancel(new Error('left'))
  const { end } = act === 'cancel' ? { end: 'was left' } : await read(reader, bytesOfWrite - bytes)
  return { act, isPart, write: await write, closed: act === 'read' ? 'open' : await outcome(writer.closed), end }
}

/** One branch is read in part. Then the stream is given up, and both branches are read to their ends. */
async function tee() {
  const writers: DurableObjectNamespace<Writer> = Reflect.get(exports, 'Writer')
  const object = writers.getByName('one')
  const [first, second] = (await object.body()).tee()
  const [one, other] = [first.getReader(), second.getReader()]
  const before = await read(one, 1_000_000)
  const written = await object.giveUp()
  const after = await read(one, Number.POSITIVE_INFINITY)
  const copy = await read(other, Number.POSITIVE_INFINITY)
  const total = before.bytes + after.bytes
  return {
    isAhead: written === writes || total > 1_000_000 + 512 * 1024,
    ends: [before.end, after.end, copy.end],
    isSame: copy.bytes === total,
  }
}

export default {
  async fetch(): Promise<Response> {
    return Response.json([await identity('read'), await identity('abort'), await identity('cancel'), await tee()])
  },
}
