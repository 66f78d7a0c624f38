import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../worker/testing/index.ts'
import { startServer, type TestServer } from '../support/server.ts'

type SentryEvent = {
  tags: Record<string, string>
  exception: { values: { type: string; value: string; stacktrace?: { frames: { function?: string }[] } }[] }
}

/** What Sentry has received so far. */
const events: SentryEvent[] = []
let sentry: Server
let server: TestServer
beforeAll(async () => {
  sentry = createServer(async (request, response) => {
    const envelope =
      request.headers['content-encoding'] === 'gzip'
        ? gunzipSync(Buffer.concat(await request.toArray())).toString()
        : await text(request)
    // Headers and items take turns, one line each.
    for (const line of envelope.split('\n').filter(Boolean)) {
      const item = JSON.parse(line)
      if (item.exception) events.push(item)
    }
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(sentry, 'listening')
  const { port } = sentry.address() as AddressInfo // of a TCP server
  server = await startServer('test/errors/sentry', { SENTRY_DSN: `http://key@127.0.0.1:${port}/1` })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  sentry.close()
})

/** Returns the event with an error id, once Sentry has it. */
const eventOf = (errorId: string | undefined) => eventWith({ errorId })

async function eventWith(tags: Record<string, string | undefined>): Promise<SentryEvent> {
  const find = () => events.find((event) => Object.entries(tags).every(([name, value]) => event.tags[name] === value))
  await expect.poll(find).toBeDefined()
  return find() as SentryEvent // just found
}

const idIn = (message: unknown) => /\(error id (\w{8})\)$/.exec(String(message))?.[1]
const textOf = (content: unknown) => (content as { text: string }[])[0]?.text

function expectException({ exception }: SentryEvent): void {
  expect(exception.values.map(({ type, value }) => [type, value])).toContainEqual(['RangeError', 'It broke'])
  expect(exception.values.map(({ value }) => value)).toContain('the reason')
  const frames = exception.values.flatMap(({ stacktrace }) => stacktrace?.frames ?? [])
  expect(frames.map((frame) => frame.function)).toContain('breakIt')
}

describe.each(['2026-07-28', '2025-11-25', '2024-11-05'])(
  'Sentry receives, with its stack, what is thrown by %s',
  (revision) => {
    test('a tool, and nothing of an error that its client caused', async () => {
      await using client = await connect(server.url, { revision })
      await expect(client.callTool('refuses')).rejects.toThrow('Not so')
      const { content } = await client.callTool('fails')
      const event = await eventOf(idIn(textOf(content)))
      expect(event.tags).toMatchObject({ method: 'tools/call', entry: 'fails', protocolVersion: revision })
      expectException(event)
      expect(events.filter(({ tags }) => tags.entry === 'refuses')).toEqual([])
    })

    test.each([
      ['prompts/get', { name: 'fails' }, 'fails'],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'incomplete' }, argument: { name: 'topic', value: 't' } },
        '{"type":"ref/prompt","name":"incomplete"}',
      ],
    ])('a prompt and a completion: %s', async (method, params, entry) => {
      await using client = await connect(server.url, { revision })
      const problem: Error = await client.request(method, params).then(
        () => new Error('nothing was thrown'),
        (error) => error,
      )
      const event = await eventOf(idIn(problem.message))
      expect(event.tags).toMatchObject({ method, entry, protocolVersion: revision })
      expectException(event)
    })

    test('an entry of a list, which is sent without it', async () => {
      await using client = await connect(server.url, { revision })
      await client.request('resources/list')
      const tags = { method: 'resources/list', entry: 'resources/list', protocolVersion: revision }
      expectException(await eventWith(tags))
    })
  },
)

test('Sentry receives what the run of a task throws', async () => {
  await using client = await connect(server.url, { revision: '2025-11-25' })
  const created = await client.request('tools/call', { name: 'fails', task: {} })
  const { taskId } = created.task as { taskId: string } // the result of a call with `task`
  const { content } = await client.request('tasks/result', { taskId })
  expectException(await eventOf(idIn(textOf(content))))
})
