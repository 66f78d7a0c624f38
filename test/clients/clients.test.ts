/** Published clients, from the first revision to the newest, drive one server: the same behaviour for all of them. */
import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { sample } from '../support/full.ts'
import { startEverything, type TestServer } from '../support/server.ts'
import { negotiating } from './2026-07-28.ts'
import type { Answers, Client, Feature, Question, ToolResult } from './generation.ts'
import { generations } from './generations.ts'
import { layWire, type Wire } from './wire.ts'

const everyone = [negotiating, ...generations]

let server: TestServer
beforeAll(async () => {
  server = await startEverything()
})
afterAll(() => server[Symbol.asyncDispose]())

/** What a client declares and answers when a test does not care. */
const obliging: Answers = {
  elicit: ({ fields }) => ({ action: 'accept', content: Object.fromEntries(fields.map((field) => [field, 'yes'])) }),
  sample: (prompt) => `Answer to: ${prompt}`,
  roots: ['file:///home', 'file:///work'],
}

const always = undefined
const text = ({ content }: ToolResult) => content.map((block) => block.text ?? '').join('')

describe.each(sample(everyone, 2))('$name, $revision', (generation) => {
  const clients: Client[] = []
  const checked = new Set<Feature>()

  afterEach(async () => {
    const leave = async (client: Client) => {
      await client.end().catch(() => {})
      await client.close()
    }
    await Promise.all(clients.splice(0).map(leave))
  })

  async function connect(answers: Answers = {}, url = server.url, session?: string): Promise<Client> {
    const client = await generation.connect(url, answers, session)
    clients.push(client)
    return client
  }

  /**
   * Repeats a check until it passes. If this generation lacks the feature, the check never passes: then a number of attempts bounds the
   * wait, and the last one fails as the excuse says. A slow machine makes the same attempts.
   */
  async function eventually(feature: Feature, check: () => unknown): Promise<void> {
    if (!(feature in generation.cannot)) return void (await vi.waitFor(check))
    for (let attempt = 1; attempt < 10; attempt++) {
      try {
        return void (await check())
      } catch {
        await setTimeout(50)
      }
    }
    await check()
  }

  /**
   * A client that lacks what a behaviour needs must fail in just the way its excuse says.
   *
   * @param rightly what a client may find wrong meanwhile
   */
  function behaves(
    sentence: string,
    needs: Feature | undefined,
    behaviour: () => Promise<void>,
    rightly?: { complains: RegExp },
  ): void {
    const excuse = needs && generation.cannot[needs]
    if (excuse) {
      checked.add(needs)
      return test(`${sentence}: not, because ${excuse.because}`, () =>
        expect(behaviour()).rejects.toThrow(excuse.shows))
    }
    test(sentence, async () => {
      await behaviour()
      const complaints = clients.flatMap((client) => client.complaints).map(String)
      expect(complaints.filter((complaint) => !rightly?.complains.test(complaint))).toEqual([])
    })
  }

  describe('requests', () => {
    behaves('negotiate the newest protocol version of the client', always, async () => {
      const client = await connect()
      expect(client.revision).toBe(generation.revision)
      expect(client.server).toEqual({ name: 'everything', instructions: 'Call the tools.' })
    })

    behaves('include ping', 'ping', async () => {
      const client = await connect()
      await client.ping()
    })

    behaves('list every tool, page by page', always, async () => {
      const client = await connect()
      const names = await client.tools()
      const pages = Math.ceil(names.length / 50)
      expect(client.heard.filter(({ result }) => result?.nextCursor !== undefined)).toHaveLength(pages - 1)
      expect(new Set(names).size).toBe(names.length)
      expect(names[0]).toBe('echo')
      expect(names.slice(-60)).toEqual(Array.from({ length: 60 }, (_, index) => `many.tool_${index + 1}`))
      expect(names).not.toContain('secret')
    })

    behaves('list resources, templates and prompts', always, async () => {
      const client = await connect()
      expect(await client.resources()).toEqual(expect.arrayContaining(['pixel', 'asks', 'note 1', 'note 2', 'note 3']))
      expect(await client.templates()).toEqual(['note', 'season', 'diary'])
      expect(await client.prompts()).toEqual(['review', 'ask'])
    })

    behaves('read resources, text and binary', always, async () => {
      const client = await connect()
      expect(await client.read('note://1')).toEqual([{ uri: 'note://1', mimeType: 'text/plain', text: 'note 1' }])
      expect(await client.read('note://42')).toEqual([{ uri: 'note://42', mimeType: 'text/plain', text: 'note 42' }])
      expect(await client.read('data://pixel')).toEqual([
        { uri: 'data://pixel', mimeType: 'image/png', blob: 'iVBORw==' },
      ])
    })

    behaves('for an unknown resource, prompt or tool fail with an error that names it', always, async () => {
      const client = await connect()
      await expect(client.read('note://none')).rejects.toThrow('Resource not found: note://none')
      await expect(client.prompt('none')).rejects.toThrow('none')
      await expect(client.call('none')).rejects.toThrow('none')
    })

    behaves('get a prompt', always, async () => {
      const client = await connect()
      expect(await client.prompt('review', { language: 'rust', code: 'fn main() {}' })).toEqual([
        'Review this rust: fn main() {}',
      ])
    })

    behaves('complete an argument', always, async () => {
      const client = await connect()
      expect(await client.complete({ prompt: 'review' }, { name: 'language', value: 'ru' })).toEqual(['rust', 'ruby'])
      expect(await client.complete({ template: 'note://{id}' }, { name: 'id', value: '1' })).toEqual(['1', '10'])
    })

    behaves('complete an argument with the values of other arguments', always, async () => {
      const client = await connect()
      const argument = { name: 'language', value: 'ru' }
      expect(await client.complete({ prompt: 'review' }, argument, { code: 'fn main() {}' })).toEqual(['known'])
    })
  })

  describe('a tool call', () => {
    behaves('returns text', always, async () => {
      const client = await connect()
      const result = await client.call('echo', { text: 'Grüße, 世界 \u2028' })
      expect(result).toEqual({
        content: [{ type: 'text', text: 'Grüße, 世界 \u2028' }],
        structured: undefined,
        failed: false,
      })
    })

    behaves('returns structured output that matches the output schema', 'structured output', async () => {
      const client = await connect()
      await client.tools()
      const result = await client.call('add', { a: 1, b: 2 })
      expect(result.structured).toEqual({ sum: 3 })
      expect(text(result)).toBe('{"sum":3}')
    })

    behaves('returns structured output that is an array', 'structured output of any kind', async () => {
      const client = await connect()
      await client.tools()
      const result = await client.call('list_words', { text: 'one two' })
      expect(result.structured).toEqual(['one', 'two'])
    })

    behaves('returns text, images and resources', always, async () => {
      const client = await connect()
      const { content } = await client.call('blocks')
      expect(content).toHaveLength(5)
      expect(content).toContainEqual({ type: 'text', text: 'text' })
      expect(content).toContainEqual({ type: 'image', mimeType: 'image/png', data: 'iVBORw==' })
      expect(content).toContainEqual({
        type: 'resource',
        resource: { uri: 'note://1', mimeType: 'text/plain', text: 'one' },
      })
    })

    behaves('returns audio', 'audio', async () => {
      const client = await connect()
      const { content } = await client.call('blocks')
      expect(content).toContainEqual({ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' })
    })

    behaves('returns a resource link', 'resource links', async () => {
      const client = await connect()
      const { content } = await client.call('blocks')
      expect(content).toContainEqual(
        expect.objectContaining({ type: 'resource_link', uri: 'note://1', name: 'Note 1' }),
      )
    })

    behaves('returns an error result when the tool fails', always, async () => {
      const client = await connect()
      expect(await client.call('fail')).toEqual({
        content: [{ type: 'text', text: 'It failed' }],
        structured: undefined,
        failed: true,
      })
    })

    behaves('with invalid arguments returns an error result that names them', always, async () => {
      const client = await connect()
      const result = await client.call('add', { a: 'one', b: 2 })
      expect(result.failed).toBe(true)
      expect(text(result)).toContain('a')
    })

    behaves('fails with the protocol error that the tool throws', always, async () => {
      const client = await connect()
      await expect(client.call('refuse')).rejects.toThrow('Refused')
    })

    behaves('delivers progress notifications', always, async () => {
      const client = await connect()
      const progress: unknown[] = []
      const result = await client.call('progress', { steps: 3 }, { onProgress: (...step) => progress.push(step) })
      expect(text(result)).toBe('3 steps')
      expect(progress).toEqual([
        [1, 3],
        [2, 3],
        [3, 3],
      ])
    })

    behaves('delivers log messages from the level that the client sets', always, async () => {
      const client = await connect()
      await client.setLogLevel('warning')
      await client.call('logs')
      expect(client.logs).toEqual(['warning', 'error'])
      await client.setLogLevel('debug')
      await client.call('logs')
      expect(client.logs.slice(2)).toEqual(['debug', 'info', 'warning', 'error'])
    })

    behaves('is cancelled by its client', always, async () => {
      const client = await connect()
      const key = randomUUID()
      const abort = new AbortController()
      const onProgress = () => abort.abort('enough')
      await expect(client.call('wait', { key }, { onProgress, signal: abort.signal })).rejects.toThrow('enough')
      await expect.poll(async () => text(await client.call('waited', { key }))).toBe('cancelled')
    })

    behaves('knows the capabilities of its client', always, async () => {
      const client = await connect(obliging)
      expect(JSON.parse(text(await client.call('can')))).toMatchObject({
        elicitation: !('elicitation' in generation.cannot),
        sampling: true,
        roots: true,
        session: !('ending a session' in generation.cannot),
      })
      const other = await connect()
      expect(JSON.parse(text(await other.call('can')))).toMatchObject({
        elicitation: false,
        sampling: false,
        roots: false,
      })
    })
  })

  describe('an input request', () => {
    behaves('for a form is answered', 'elicitation', async () => {
      const questions: Question[] = []
      const client = await connect({
        elicit(question) {
          questions.push(question)
          return { action: 'accept', content: { name: 'Ada' } }
        },
      })
      expect(text(await client.call('ask_name'))).toBe('Hello, Ada!')
      expect(questions).toEqual([{ message: 'What is your name?', fields: ['name'] }])
    })

    behaves('for a form is declined or cancelled', 'elicitation', async () => {
      const declining = await connect({ elicit: () => ({ action: 'decline' }) })
      expect(text(await declining.call('ask_name'))).toBe('No name: decline')
      const cancelling = await connect({ elicit: () => ({ action: 'cancel' }) })
      expect(text(await cancelling.call('ask_name'))).toBe('No name: cancel')
    })

    behaves('for a form gets the defaults of its fields', 'elicitation', async () => {
      const client = await connect({ elicit: () => ({ action: 'accept', content: { size: 3 } }) })
      expect(JSON.parse(text(await client.call('ask_choices')))).toEqual({ colour: 'red', size: 3, sure: true })
    })

    behaves('after another does not repeat the effects before it', 'elicitation', async () => {
      const client = await connect({ elicit: ({ message }) => ({ action: 'accept', content: { value: message } }) })
      expect(text(await client.call('ask_twice'))).toBe('First? Second? 0')
    })

    behaves('of a resource or a prompt is answered', 'elicitation', async () => {
      const client = await connect({
        elicit: ({ fields: [field = ''] }) => ({
          action: 'accept',
          content: { [field]: field === 'ok' ? true : 'the sea' },
        }),
      })
      expect(await client.read('data://asks')).toEqual([expect.objectContaining({ text: 'shown' })])
      expect(await client.prompt('ask')).toEqual(['Tell me about the sea'])
    })

    behaves('for sampling is answered', always, async () => {
      const client = await connect({ sample: (prompt) => (prompt.includes('France') ? 'Paris' : 'No idea') })
      expect(text(await client.call('ask_model'))).toBe('The model says: Paris')
    })

    behaves('for roots is answered', always, async () => {
      const client = await connect({ roots: ['file:///home', 'file:///work'] })
      expect(text(await client.call('ask_roots'))).toBe('file:///home file:///work')
    })

    behaves('for sampling and roots at once is answered', always, async () => {
      const client = await connect({ sample: () => 'Something', roots: ['file:///home'] })
      expect(text(await client.call('ask_around'))).toBe('Something in file:///home')
    })

    behaves('for a form and sampling at once is answered, both concurrently', 'elicitation', async () => {
      const person = Promise.withResolvers<void>()
      const client = await connect({
        // Whoever were asked one after the other would never get to the second.
        elicit: async () => {
          await person.promise
          return { action: 'accept', content: { value: 'Mine' } }
        },
        sample: () => {
          person.resolve()
          return 'yours'
        },
      })
      expect(text(await client.call('ask_together'))).toBe('Mine and yours')
    })

    behaves('is not sent to a client without the capability: the call fails', always, async () => {
      const client = await connect()
      // The newest revision has an error for it; with older ones the tool fails.
      const refusal = (tool: string) => client.call(tool).then(text, String)
      expect(await refusal('ask_name')).toContain('This call needs a client that supports elicitation')
      expect(await refusal('ask_model')).toContain('This call needs a client that supports sampling')
      expect(await refusal('ask_roots')).toContain('This call needs a client that supports roots')
    })
  })

  describe('notifications', () => {
    behaves('of a changed resource arrive until the client unsubscribes', always, async () => {
      const client = await connect()
      const other = await connect()
      const [one, two] = [newNote(), newNote()]
      const watch = await listens(client, other, one.uri)
      await other.call('touch', one)
      await expect.poll(() => client.updates).toContain(one.uri)
      await watch.stop()
      await listens(client, other, two.uri)
      await other.call('touch', one)
      await other.call('touch', two)
      await expect.poll(() => client.updates).toContain(two.uri)
      expect(client.updates.filter((uri) => uri === one.uri)).toHaveLength(1)
    })

    behaves('of changed lists arrive', always, async () => {
      const client = await connect()
      await client.watch()
      await expect
        .poll(async () => {
          await client.call('change_lists')
          return [...client.changes].sort()
        })
        .toEqual(['prompts', 'resources', 'tools'])
    })

    behaves('for one client do not reach another', always, async () => {
      const one = await connect(obliging)
      const two = await connect(obliging)
      const [first, second] = [newNote(), newNote()]
      await listens(one, two, first.uri)
      await listens(two, one, second.uri)
      await one.call('touch', second)
      await two.call('touch', first)
      const calls = async (client: Client, mine: string) => {
        const progress: number[] = []
        await client.setLogLevel('debug')
        const results = await Promise.all([
          client.call('echo', { text: mine }),
          client.call('progress', { steps: 2 }, { onProgress: (done) => progress.push(done) }),
          client.call('logs'),
          client.call('ask_model'),
        ])
        expect(results.map(text)).toEqual([
          mine,
          '2 steps',
          'logged',
          'The model says: Answer to: What is the capital of France?',
        ])
        expect(progress).toEqual([1, 2])
      }
      await Promise.all([calls(one, 'for one'), calls(two, 'for two')])
      expect(JSON.stringify(one.heard)).toContain('for one')
      expect(JSON.stringify(one.heard)).not.toContain('for two')
      expect(JSON.stringify(two.heard)).not.toContain('for one')
      expect(one.logs).toHaveLength(4)
      expect(two.logs).toHaveLength(4)
      await expect.poll(() => one.updates).toContain(first.uri)
      await expect.poll(() => two.updates).toContain(second.uri)
      expect(one.updates).not.toContain(second.uri)
      expect(two.updates).not.toContain(first.uri)
    })
  })

  describe('a lost connection', () => {
    behaves('that the server closed is resumed, and the result arrives', 'polling', async () => {
      await using wire = await layWire(server.url)
      const client = await connect({}, wire.url)
      expect(text(await client.call('disconnect'))).toBe('You came back')
      expect(resumptions(wire), 'requests with Last-Event-ID').toHaveLength(1)
    })

    behaves(
      'during an input request is resumed, and the call continues',
      'resumption',
      async () => {
        await using wire = await layWire(server.url)
        const cut = Promise.withResolvers<void>()
        const sample = () => {
          expect(wire.cut()).toBeGreaterThan(0)
          cut.resolve()
          return 'Paris'
        }
        const client = await connect({ sample }, wire.url)
        let said: string | undefined
        const abort = new AbortController()
        const call = client.call('ask_model', {}, { signal: abort.signal }).then((result) => {
          said = text(result)
        })
        try {
          await Promise.race([call, cut.promise])
          await eventually('resumption', () => expect(said).toBe('The model says: Paris'))
        } finally {
          abort.abort()
          await call.catch(() => {})
        }
      },
      { complains: /disconnected/ },
    )

    behaves(
      'of a subscriber is resumed without a missed notification',
      'resumption',
      async () => {
        await using wire = await layWire(server.url)
        const client = await connect({}, wire.url)
        const other = await connect()
        const note = newNote()
        await listens(client, other, note.uri)
        expect(wire.cut()).toBeGreaterThan(0)
        await other.call('touch', note)
        await eventually('resumption', () => expect(client.updates).toContain(note.uri))
        expect(client.updates.filter((uri) => uri === note.uri)).toHaveLength(1)
      },
      { complains: /disconnected/ },
    )

    behaves(
      'during a call cancels the call',
      'cancelling by leaving',
      async () => {
        await using wire = await layWire(server.url)
        const client = await connect({}, wire.url)
        const other = await connect()
        const key = randomUUID()
        const started = Promise.withResolvers<void>()
        const abort = new AbortController()
        const call = client.call('wait', { key }, { onProgress: () => started.resolve(), signal: abort.signal })
        const ended = call.catch(() => {})
        await started.promise
        expect(wire.cut()).toBeGreaterThan(0)
        try {
          await eventually('cancelling by leaving', async () =>
            expect(text(await other.call('waited', { key }))).toBe('cancelled'),
          )
        } finally {
          abort.abort()
          await ended
        }
      },
      { complains: /disconnected|other side closed/ },
    )
  })

  describe('the client', () => {
    behaves('has at most one standing GET stream, however many calls it made', always, async () => {
      await using wire = await layWire(server.url)
      const client = await connect(obliging, wire.url)
      for (let turn = 0; turn < 3; turn++) {
        await client.call('progress', { steps: 2 }, { onProgress: () => {} })
        await client.call('ask_model')
      }
      let before = -1
      const silent = () => {
        const same = wire.carried.length === before
        before = wire.carried.length
        return same
      }
      await expect.poll(silent, { interval: 200 }).toBe(true)
      const standing = wire.carried.filter(({ method, headers }) => method === 'GET' && !headers['last-event-id'])
      expect(standing.length).toBeLessThanOrEqual(1)
    })

    behaves(
      'ends its session, which is unknown afterwards',
      'ending a session',
      async () => {
        await using wire = await layWire(server.url)
        const client = await connect({}, wire.url)
        await client.call('echo', { text: 'here' })
        const call = wire.carried.find(({ body }) => body.includes('tools/call'))
        await client.end()
        // It would dial once more, without the session it had.
        await client.close()
        await eventually('ending a session', async () => expect(call && (await wire.repeat(call))).toBe(404))
      },
      { complains: /aborted/ },
    )

    behaves(
      'shares its session with another client until it ends the session',
      'taking up a session',
      async () => {
        const client = await connect()
        expect(client.session).toEqual(expect.any(String))
        const heir = await connect({}, server.url, client.session)
        expect(heir.session).toBe(client.session)
        expect(text(await heir.call('echo', { text: 'mine now' }))).toBe('mine now')
        await client.end()
        await client.close()
        await expect(heir.call('echo', { text: 'too late' })).rejects.toThrow('Session not found')
      },
      // A client that reconnects its stream after the end of the session gets a 404, and says so; one that is closed meanwhile gives up.
      { complains: /Session not found|SSE stream: Not Found|This operation was aborted/ },
    )
  })

  test('is checked for each feature that the client lacks', () => {
    expect([...checked].sort()).toEqual(Object.keys(generation.cannot).sort())
  })
})

test('a client that negotiates sends one server/discover and uses the version offered', async () => {
  await using wire = await layWire(server.url)
  const client = await negotiating.connect(wire.url, {})
  await client.call('echo', { text: 'here' })
  const methods = wire.carried.map(({ body }) => JSON.parse(body).method)
  expect(methods).toEqual(['server/discover', 'tools/call'])
  await client.close()
})

/** Requests that ask for the rest of a stream. */
const resumptions = (wire: Wire) => wire.carried.filter(({ headers }) => headers['last-event-id'] !== undefined)

let notes = 1000

/** A note of which nobody has heard yet. */
function newNote(): { id: string; uri: string } {
  const id = String(++notes)
  return { id, uri: `note://${id}` }
}

/** Watches resources, and waits for the stream on which updates come: it may be on its way after a client connected. */
async function listens(client: Client, other: Client, ...uris: string[]): Promise<{ stop(): Promise<void> }> {
  const probe = newNote()
  const watch = await client.watch(probe.uri, ...uris)
  const heard = async () => {
    await other.call('touch', probe)
    return client.updates
  }
  await expect.poll(heard).toContain(probe.uri)
  return watch
}
