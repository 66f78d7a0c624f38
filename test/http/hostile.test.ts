/** Whatever arrives, the server answers it, says what was wrong, repeats the id it could read, and lives on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBody } from '../../worker/http/body.ts'
import { defaultLimits } from '../../worker/http/limits.ts'
import { sample } from '../support/full.ts'
import { startWithWrangler, type TestServer } from '../support/server.ts'
import { bodies } from './hostile-bodies.ts'
import { framing } from './hostile-framing.ts'
import { headers } from './hostile-headers.ts'
import { ids } from './hostile-ids.ts'
import { mirrors } from './hostile-mirrors.ts'
import { parameters } from './hostile-parameters.ts'
import { rounds } from './hostile-rounds.ts'
import {
  type Answered,
  inSession,
  messagesOf,
  type Outcome,
  request,
  Stage,
  secrets,
  stateless,
} from './hostile-row.ts'
import { sessions } from './hostile-sessions.ts'
import { shapes } from './hostile-shapes.ts'
import { sse2024 } from './hostile-sse-2024.ts'
import { versions } from './hostile-versions.ts'

const table = { framing, bodies, shapes, ids, headers, mirrors, versions, sessions, sse2024, parameters, rounds }

let server: TestServer
let stage: Stage

beforeAll(async () => {
  server = await startWithWrangler('test/support/everything', secrets)
  stage = new Stage(server.url)
})
afterAll(() => server.harness.close())

for (const [topic, rows] of Object.entries(table)) {
  describe(topic, () => {
    for (const { name, send, outcome } of sample(rows, 4)) {
      test(name, async () => {
        const answer = await stage.send(send)
        if ('byRuntime' in outcome) return assertUnreached(answer, outcome.status)
        assertSound(answer)
        assertOutcome(answer, outcome)
      })
    }
  })
}

describe('after all of these requests', () => {
  const call = { name: 'echo', arguments: { text: 'alive' } }
  const alive = [{ id: 1, result: { content: [{ type: 'text', text: 'alive' }] } }]

  test('a stateless request is served', async () => {
    expect(messagesOf(await stage.send(stateless('tools/call', call)))).toMatchObject(alive)
  })

  test('a request in the session that was used most is served', async () => {
    expect(messagesOf(await stage.send(inSession(request('tools/call', call))))).toMatchObject(alive)
  })

  test('the server has no uncaught and no logged errors', () => {
    const logs = server.harness.getLogs()
    expect(logs.filter(({ level, message }) => level === 'error' && !fromTheHarness.test(message))).toEqual([])
  })
})

test('a body that ends unexpectedly is an error of the client', async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('Network connection lost.')) })
  const headers = { 'Content-Type': 'application/json' }
  const broken = new Request(server.url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
  await expect(readBody(broken, defaultLimits)).rejects.toMatchObject({ kind: 'parse_error' })
})

test('a body without a length is copied as it arrives, because its chunks may share one buffer', async () => {
  const text = JSON.stringify({ text: 'ab日'.repeat(1_000) })
  const bytes = new TextEncoder().encode(text)
  const window = new Uint8Array(1)
  let at = 0
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull(controller) {
      if (at === bytes.byteLength) return controller.close()
      window.set(bytes.subarray(at, at + 1))
      at += 1
      controller.enqueue(window)
    },
  }
  // Nothing is read ahead.
  const body = new ReadableStream(source, { highWaterMark: 0 })
  const headers = { 'Content-Type': 'application/json' }
  const pieces = new Request(server.url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
  expect(await readBody(pieces, defaultLimits)).toEqual({ text })
})

test('a body in a great many pieces is too large', async () => {
  let read = 0
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        read += 1
        if (read > 200_000) controller.close()
        else controller.enqueue(new Uint8Array(1))
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'Content-Type': 'application/json' }
  const pieces = new Request(server.url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
  expect((await readBody(pieces, defaultLimits)).problem?.kind).toBe('content_too_large')
  expect(read).toBeLessThan(140_000)
})

/** The harness reads what is left of a body after the answer, and complains when the body ended unexpectedly. */
const fromTheHarness = /^Failed to drain the unused request body/

/** The status is the runtime's, and nothing says that the Worker had a hand in it. */
function assertUnreached({ status, headers }: Answered, expected: number): void {
  expect(status).toBe(expected)
  expect(headers.get('Vary')).toBeNull()
}

/** What holds for every answer of the server, whatever was sent. */
function assertSound(answer: Answered): void {
  const { status, headers, text, wire } = answer
  expect(status).toBeLessThan(500)
  expect(text).not.toMatch(/\bat .+ \(|\.[jt]s:\d|node_modules|file:\/\//)
  const origin = wire.headers?.Origin
  // Whoever may not call may not read either.
  if (origin !== undefined) expect(headers.get('Access-Control-Allow-Origin')).toBe(status === 403 ? null : origin)
  for (const message of messagesOf(answer)) {
    expect(message.jsonrpc).toBe('2.0')
    expect(message.id).not.toBeNull()
    if (!('error' in message)) continue
    expect(message).not.toHaveProperty('result')
    const { code, message: said } = message.error as { code: unknown; message: unknown }
    expect(code).toSatisfy(Number.isInteger)
    expect(said).toBeTypeOf('string')
  }
}

function assertOutcome(answer: Answered, outcome: Outcome): void {
  const seen = `${answer.status} ${answer.text.slice(0, 500)}`
  expect(answer.status, seen).toBe(outcome.status)
  for (const [name, value] of Object.entries(outcome.headers ?? {})) expect(answer.headers.get(name), name).toBe(value)
  if ('text' in outcome) return expect(answer.text).toBe(outcome.text)
  const messages = messagesOf(answer)
  if ('messages' in outcome) return expect(messages, seen).toMatchObject(outcome.messages as object)
  const last = messages.at(-1)
  if ('error' in outcome) {
    const { error: code, data } = outcome
    expect(last, seen).toMatchObject({ error: data === undefined ? { code } : { code, data } })
  }
  if ('result' in outcome) expect(last, seen).toMatchObject({ result: outcome.result })
  if ('id' in outcome) {
    // A refusal without an id has no such member at all.
    expect(last !== undefined && 'id' in last, seen).toBe(outcome.id !== undefined)
    expect(last?.id, seen).toBe(outcome.id)
  }
}
