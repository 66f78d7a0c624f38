/**
 * One file of handlers that asks in every way (`asking/index.ts`), and published clients of every revision: the same
 * outcome, word for word, or a stated reason and what happens instead. The run ends with a table of all that.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFull, sample } from '../support/full.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { type Answering, type AnsweringClient, kinds as allKinds, type Kind } from './answering.ts'
import type { Message } from './generation.ts'

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/clients/asking')
})
afterAll(() => server[Symbol.asyncDispose]())

type Json = Record<string, unknown>
const accept = (content: Json) => ({ action: 'accept', content })
const declining = { ...answering(), person: () => ({ action: 'decline' }) }
const cancelling = { ...answering(), person: () => ({ action: 'cancel' }) }

/** What the person answers to each question. */
const answers: Record<string, Json> = {
  'What is your name?': accept({ name: 'Ada' }),
  'Which seat?': accept({ place: 'aisle', fare: 'biz', seats: 2, luggage: 7.5, meal: false, day: '2026-12-24' }),
  'Which meals?': accept({ meals: ['lunch', 'dinner'] }),
  'Pay here': { action: 'accept' },
  'Enrol here': { action: 'accept' },
  'Where do you want to go?': accept({ city: 'Oslo' }),
  'Where to?': accept({ city: 'Oslo' }),
  'To Oslo, really?': accept({ sure: true }),
  'Booked. Which seat?': accept({ seat: '7A' }),
  'Where to after the start?': accept({ city: 'Oslo' }),
  'Where to after 1. Oslo?': accept({ city: 'Rome' }),
  'Where to after 2. Rome?': accept({ city: 'Bern' }),
  'Where to after 3. Bern?': { action: 'decline' },
  'Whom do you write to?': accept({ name: 'Bob' }),
  'May I show it?': accept({ sure: true }),
}

const says = (text: string) => ({ model: 'a model', role: 'assistant', content: { type: 'text', text } })

type Block = { type: string; text?: string; content?: Block[] }

/** Looks up the weather of two cities if it is given the tool, and answers from what it found. */
function model({ messages, tools, toolChoice, systemPrompt }: Json): Json {
  const last = [(messages as { content: Block | Block[] }[]).at(-1)?.content ?? []].flat()
  if (!tools) return says(`${systemPrompt ?? 'To Rome'} (${last[0]?.text})`)
  const found = last.flatMap(({ type, content }) => (type === 'tool_result' ? (content ?? []) : []))
  if (found.length > 0)
    return { ...says(`Pack for ${found.map(({ text }) => text).join(' and ')}`), stopReason: 'endTurn' }
  expect(toolChoice).toEqual({ mode: 'required' })
  const uses = ['Oslo', 'Rome'].map((city) => ({
    type: 'tool_use',
    id: `for-${city}`,
    name: 'weather',
    input: { city },
  }))
  return { ...says(''), content: uses, stopReason: 'toolUse' }
}

function answering(): Answering {
  return {
    person: ({ message }) => answers[String(message)] ?? { action: 'cancel' },
    model,
    folders: () => ({
      roots: [
        { uri: 'file:///home', name: 'home' },
        { uri: 'file:///work', name: 'work' },
      ],
    }),
  }
}

/** Two that answer only when both have been asked: whoever asks them one after the other gets no answer. */
function answeringTogether(one: 'person' | 'folders'): Answering {
  const alone = answering()
  const { promise: modelAsked, resolve } = Promise.withResolvers<void>()
  const { promise: otherAsked, resolve: other } = Promise.withResolvers<void>()
  return {
    ...alone,
    async [one](params: Json) {
      other()
      await modelAsked
      return alone[one](params)
    },
    async model(params) {
      resolve()
      await otherAsked
      return model(params)
    },
  }
}

type Connect = (answers?: Answering | 'nobody') => Promise<AnsweringClient>

type Scenario = {
  /** What the client's side does. The text it returns is the outcome. */
  play(connect: Connect): Promise<string>
  outcome: string
  /** How many questions reach the client. */
  questions: number
  /** Where it is otherwise. */
  unless?: readonly Otherwise[]
}

type Otherwise = {
  revisions: readonly string[]
  because: string
  outcome: string
  questions?: number
}

const calls = (tool: string, who?: Answering | 'nobody') => async (connect: Connect) => (await connect(who)).call(tool)
const needs = (feature: string) => `This call needs a client that supports ${feature}`
const withSessions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

const noForms = (outcome = `failed: ${needs('elicitation')}`): Otherwise => ({
  revisions: ['2025-03-26', '2024-11-05'],
  because: 'forms came with 2025-06-18: refused',
  outcome,
})
const noPages: Otherwise = {
  revisions: ['2025-06-18', '2025-03-26', '2024-11-05'],
  because: 'pages came with 2025-11-25: refused',
  outcome: `failed: ${needs('elicitation.url')}`,
}

const scenarios: Record<string, Scenario> = {
  'a form': {
    play: calls('greet'),
    outcome: 'Hello, Ada!',
    questions: 1,
    unless: [noForms()],
  },
  'a form, raw': {
    play: calls('greet_raw'),
    outcome: 'Hello, Ada!',
    questions: 1,
    unless: [noForms()],
  },
  'a form, declined': {
    play: calls('greet', declining),
    outcome: 'No name: decline',
    questions: 1,
    unless: [noForms()],
  },
  'a form, cancelled': {
    play: calls('greet', cancelling),
    outcome: 'No name: cancel',
    questions: 1,
    unless: [noForms()],
  },
  'choices, numbers, yes or no': {
    play: calls('reserve'),
    outcome: '{"place":"aisle","fare":"biz","seats":2,"luggage":7.5,"meal":false,"insured":true,"day":"2026-12-24"}',
    questions: 1,
    unless: [noForms()],
  },
  'several of some choices': {
    play: calls('board'),
    outcome: 'lunch and dinner',
    questions: 1,
    unless: [
      {
        revisions: ['2025-06-18'],
        because: 'choosing several came with 2025-11-25: refused',
        outcome: 'failed: Protocol version 2025-06-18 cannot express the input request "meals"',
      },
      noForms(),
    ],
  },
  'a page': {
    play: calls('pay'),
    outcome: 'Paid',
    questions: 1,
    unless: [noPages],
  },
  'a page, declined': {
    play: calls('pay', declining),
    outcome: 'Not paid: decline',
    questions: 1,
    unless: [noPages],
  },
  'a page that comes first': {
    play: calls('enrol'),
    outcome: 'Enrolled: accept',
    questions: 1,
    unless: [
      {
        revisions: ['2025-11-25'],
        because: '2025-11-25 has an error for it: the client sends the person there and makes its request again',
        outcome: 'error -32042: Enrol here',
        questions: 0,
      },
      { ...noPages, outcome: `failed: ${needs('elicitation.url')}` },
    ],
  },
  'told when done on a page': {
    async play(connect) {
      const asked: unknown[] = []
      const client = await connect({
        ...answering(),
        person({ url, elicitationId }) {
          asked.push(elicitationId)
          return { action: url === 'https://example.com/pay?order=1' ? 'accept' : 'decline' }
        },
      })
      const said = await client.call('pay')
      const done = client.heard.filter(({ method }) => method === 'notifications/elicitation/complete')
      const same = done.every(({ params }) => asked.includes(params?.elicitationId))
      return `${said}, told ${done.length} time(s)${same ? '' : ' of something else'}`
    },
    outcome: 'Paid, told 1 time(s)',
    questions: 1,
    unless: [
      {
        revisions: ['2026-07-28'],
        because: '2026-07-28 has no word for it any more: paid, and not told',
        outcome: 'Paid, told 0 time(s)',
        questions: 1,
      },
      { ...noPages, outcome: `${noPages.outcome}, told 0 time(s)` },
    ],
  },
  'a prompt for the model': {
    play: calls('describe'),
    outcome: 'a model says: Be brief (Describe Oslo)',
    questions: 1,
  },
  'a model that calls tools': {
    play: calls('pack'),
    outcome: 'Pack for snow and sun (endTurn, turn 2)',
    questions: 2,
    unless: [
      {
        revisions: ['2025-06-18', '2025-03-26', '2024-11-05'],
        because: 'sampling with tools came with 2025-11-25: refused',
        outcome: `failed: ${needs('sampling.tools')}`,
      },
    ],
  },
  folders: {
    play: calls('locate'),
    outcome: 'home at file:///home, work at file:///work',
    questions: 1,
  },
  'a person and a model at once': {
    play: (connect) => calls('agree', answeringTogether('person'))(connect),
    outcome: 'Oslo or To Rome (Where should one go?)',
    questions: 2,
    unless: [noForms()],
  },
  'a model and folders at once': {
    play: (connect) => calls('survey', answeringTogether('folders'))(connect),
    outcome: 'To Rome (Where should one go?) and 2 folders',
    questions: 2,
  },
  'one after another, and once': {
    play: async (connect) => (await connect()).call('book', { order: randomUUID() }),
    outcome: 'Oslo, seat 7A, booked 1 time(s)',
    questions: 3,
    unless: [noForms()],
  },
  'the same, in a single tool': {
    play: async (connect) => (await connect()).call('book_once', { order: randomUUID() }),
    outcome: 'Oslo, seat 7A, booked 1 time(s)',
    questions: 3,
    unless: [noForms()],
  },
  'a loop of questions': {
    play: calls('tour'),
    outcome: '1. Oslo, 2. Rome, 3. Bern, and home',
    questions: 4,
    unless: [noForms()],
  },
  'a prompt asks a person': {
    play: async (connect) => (await connect()).prompt('postcard'),
    outcome: 'Write a postcard to Bob',
    questions: 1,
    unless: [noForms(`error -32600: ${needs('elicitation')}`)],
  },
  'a prompt asks a model': {
    play: async (connect) => (await connect()).prompt('slogan'),
    outcome: 'Write a slogan for To Rome (Where should one go?)',
    questions: 1,
  },
  'a resource asks a person': {
    play: async (connect) => (await connect()).read('desk://passport'),
    outcome: 'A passport',
    questions: 1,
    unless: [noForms(`error -32600: ${needs('elicitation')}`)],
  },
  'a resource asks for folders': {
    play: async (connect) => (await connect()).read('desk://files'),
    outcome: 'file:///home\nfile:///work',
    questions: 1,
  },
  'an answer that does not fit': {
    play: calls('greet', { ...answering(), person: () => accept({ name: '' }) }),
    outcome:
      'error -32602: The answer to "name" does not fit its schema: name: Too small: expected string to have >=1 characters',
    questions: 1,
    unless: [
      noForms(),
      {
        revisions: ['2025-11-25', '2025-06-18'],
        because: 'a client with a session repeats no call: the model reads the problem',
        outcome:
          'failed: The answer to "name" does not fit its schema: name: Too small: expected string to have >=1 characters',
        questions: 1,
      },
    ],
  },
  'a model that refuses': {
    play: calls('describe', { ...answering(), model: () => Promise.reject(new Error('Not today')) }),
    outcome: 'failed: The client returned an error for "city": Not today',
    questions: 1,
    unless: [
      {
        revisions: ['2026-07-28'],
        because: 'with 2026-07-28 nobody waits for its answer: the client gives up by itself',
        outcome: 'error: Not today',
        questions: 1,
      },
    ],
  },
  'what the client can': {
    play: calls('abilities'),
    outcome: 'elicitation elicitation.url sampling sampling.tools sampling.context roots',
    questions: 0,
    unless: [
      {
        revisions: ['2025-06-18'],
        because: 'less than it says, as 2025-06-18 has less',
        outcome: 'elicitation sampling sampling.context roots',
      },
      {
        revisions: ['2025-03-26', '2024-11-05'],
        because: 'less than it says, as revisions before 2025-06-18 have less',
        outcome: 'sampling sampling.context roots',
      },
    ],
  },
  'nobody there, and it looks': {
    play: calls('greet_if_possible', 'nobody'),
    outcome: 'Hello, stranger!',
    questions: 0,
  },
  'nobody there, asked anyway': {
    play: calls('greet', 'nobody'),
    outcome: `error -32021: ${needs('elicitation')}`,
    questions: 0,
    unless: [
      {
        revisions: withSessions,
        because: 'the error came with 2026-07-28: before, the tool fails with the same words',
        outcome: `failed: ${needs('elicitation')}`,
      },
    ],
  },
}

const asking = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])

/** Questions come as requests, or inside of a result. */
const questionsIn = (heard: readonly Message[]) =>
  heard.reduce((count, { method = '', result }) => {
    return count + (asking.has(method) ? 1 : 0) + Object.keys(result?.inputRequests ?? {}).length
  }, 0)

type Played = { outcome: string; questions: number; complaints: readonly Error[] }

async function play({ play }: Scenario, kind: Kind): Promise<Played> {
  await using clients = new AsyncDisposableStack()
  const heard: (readonly Message[])[] = []
  const complaints: (readonly Error[])[] = []
  const outcome = await play(async (who = answering()) => {
    const client = clients.use(await kind.connect(server.url, who === 'nobody' ? undefined : who))
    heard.push(client.heard)
    complaints.push(client.complaints)
    return client
  })
  return { outcome, questions: questionsIn(heard.flat()), complaints: complaints.flat() }
}

/** Each cell of the table is played once, whoever asks first. */
const cells = new Map<string, Promise<Played>>()
function cell(title: string, scenario: Scenario, kind: Kind): Promise<Played> {
  const key = `${title}, ${nameOf(kind)}`
  const played = cells.get(key) ?? play(scenario, kind)
  cells.set(key, played)
  return played
}

const nameOf = (kind: Kind) => [kind.revision, kind.package, kind.way].join(' ').trim()

const exception = ({ unless = [] }: Scenario, { revision }: Kind) =>
  unless.find(({ revisions }) => revisions.includes(revision))

/** In `npm test` every other one. */
const kinds = sample(allKinds, 2)

test.each(kinds)('$package $way negotiates $revision', async ({ connect, revision }) => {
  await using client = await connect(server.url, answering())
  expect(client.revision).toBe(revision)
})

describe.each(Object.entries(scenarios))('%s', (title, scenario) => {
  for (const kind of kinds) {
    const otherwise = exception(scenario, kind)
    const { outcome, questions = 0 } = otherwise ?? scenario
    test(`${nameOf(kind)}${otherwise ? `: ${otherwise.because}` : ''}`, async () => {
      expect(await cell(title, scenario, kind)).toEqual({ outcome, questions, complaints: [] })
    })
  }
})

/** What was seen: `same` outcome as everywhere, a letter for what happens instead and why, or `ODD`. */
async function tableOfOutcomes(): Promise<string> {
  const reasons = new Map<string, string>()
  const letterOf = (reason: string) => {
    const letter = reasons.get(reason) ?? String.fromCharCode('a'.charCodeAt(0) + reasons.size)
    reasons.set(reason, letter)
    return letter
  }
  const rows = [
    ['', ...kinds.map(({ revision }) => revision)],
    ['', ...kinds.map((kind) => kind.package)],
    ['', ...kinds.map(({ way }) => way)],
  ]
  for (const [title, scenario] of Object.entries(scenarios)) {
    const row = [title]
    for (const kind of kinds) {
      const { outcome } = await cell(title, scenario, kind)
      const otherwise = exception(scenario, kind)
      if (outcome === scenario.outcome) row.push('same')
      else row.push(outcome === otherwise?.outcome ? letterOf(otherwise.because) : 'ODD')
    }
    rows.push(row)
  }
  const width = Math.max(...Object.keys(scenarios).map(({ length }) => length)) + 2
  const lines = rows.map(([title = '', ...row]) => title.padEnd(width) + row.map((text) => text.padEnd(13)).join(''))
  const notes = [...reasons].map(([reason, letter]) => `${letter}: ${reason}`)
  return [...lines.map((line) => line.trimEnd()), '', ...notes].join('\n')
}

test.runIf(isFull)('the table lists the outcome of each scenario for each client', async () => {
  const table = await tableOfOutcomes()
  console.log(`\n${table}\n`)
  expect(table).toBe(expected)
})

const expected = `\
                              2026-07-28   2025-11-25   2025-11-25   2025-11-25   2025-06-18   2025-03-26   2024-11-05
                              client 2.4.0 client 2.4.0 sdk 1.32.2   sdk 1.32.2   sdk 1.23.1   sdk 1.12.3   sdk 1.9.0
                              pinned       legacy                    HTTP+SSE                               HTTP+SSE
a form                        same         same         same         same         same         a            a
a form, raw                   same         same         same         same         same         a            a
a form, declined              same         same         same         same         same         a            a
a form, cancelled             same         same         same         same         same         a            a
choices, numbers, yes or no   same         same         same         same         same         a            a
several of some choices       same         same         same         same         b            a            a
a page                        same         same         same         same         c            c            c
a page, declined              same         same         same         same         c            c            c
a page that comes first       same         d            d            d            c            c            c
told when done on a page      e            same         same         same         c            c            c
a prompt for the model        same         same         same         same         same         same         same
a model that calls tools      same         same         same         same         f            f            f
folders                       same         same         same         same         same         same         same
a person and a model at once  same         same         same         same         same         a            a
a model and folders at once   same         same         same         same         same         same         same
one after another, and once   same         same         same         same         same         a            a
the same, in a single tool    same         same         same         same         same         a            a
a loop of questions           same         same         same         same         same         a            a
a prompt asks a person        same         same         same         same         same         a            a
a prompt asks a model         same         same         same         same         same         same         same
a resource asks a person      same         same         same         same         same         a            a
a resource asks for folders   same         same         same         same         same         same         same
an answer that does not fit   same         g            g            g            g            a            a
a model that refuses          h            same         same         same         same         same         same
what the client can           same         same         same         same         i            j            j
nobody there, and it looks    same         same         same         same         same         same         same
nobody there, asked anyway    same         k            k            k            k            k            k

a: forms came with 2025-06-18: refused
b: choosing several came with 2025-11-25: refused
c: pages came with 2025-11-25: refused
d: 2025-11-25 has an error for it: the client sends the person there and makes its request again
e: 2026-07-28 has no word for it any more: paid, and not told
f: sampling with tools came with 2025-11-25: refused
g: a client with a session repeats no call: the model reads the problem
h: with 2026-07-28 nobody waits for its answer: the client gives up by itself
i: less than it says, as 2025-06-18 has less
j: less than it says, as revisions before 2025-06-18 have less
k: the error came with 2026-07-28: before, the tool fails with the same words`
