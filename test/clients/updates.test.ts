/**
 * A change, from wherever an application may notice it (`updates/index.ts`), and published clients of every revision: whoever
 * listens hears of it once, and nobody else does. The run ends with a table of all that.
 */
import { resolve } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { connect } from '../../worker/testing/index.ts'
import type { Client, Generation, Message } from './generation.ts'
import { generations } from './generations.ts'

/**
 * The Worker runs twice, and that is what makes two isolates: on this machine all there is of one Worker runs in one, its
 * objects and its entrypoints too. The second one's own server tells nobody: it finds the objects of its own Worker only,
 * so it says what it knows to the first one's publisher.
 */
const [home, elsewhere] = ['updates', 'elsewhere']

let harness: TestHarness
let url: URL
beforeAll(async () => {
  const folders = ['test/clients/updates', 'test/clients/updates/second']
  harness = createTestHarness({
    root: resolve(import.meta.dirname, '../..'),
    workers: folders.map((folder) => ({ configPath: `${folder}/wrangler.toml` })),
  })
  url = new URL('/mcp', (await harness.listen()).url)
})
afterAll(() => harness?.close())

/** @returns the isolate it was done in */
const visit = async (worker: string, path: string) => (await harness.getWorker(worker).fetch(path)).text()

/** @returns the isolate it was done in */
async function edit(worker: string, revision: string, ids: string): Promise<string> {
  const { fetch } = harness.getWorker(worker)
  // Node's own Request, and that of the harness: they differ in types only.
  const target = (request: Request) => fetch(request.url, request as never) as unknown as Promise<Response>
  await using client = await connect(target, { revision })
  const { content } = await client.callTool('edit', { ids })
  return (content[0] as { text: string }).text
}

/** Milliseconds. */
const dueAt = 1_800_000_000_000

/** Where changes come from. Two notes and every list change, the notes being called after these ids. */
const sources: readonly { title: string; ids: string; announce(ids: string): Promise<unknown> }[] = [
  {
    title: 'a cron trigger',
    ids: `cron-${dueAt}`,
    announce: () => harness.getWorker(home).scheduled({ cron: '0 * * * *', scheduledTime: new Date(dueAt) }),
  },
  { title: 'a message in a queue', ids: 'queue', announce: (ids) => visit(home, `/queue?ids=${ids}`) },
  { title: 'a tool, in a session', ids: 'session', announce: (ids) => edit(home, '2025-11-25', ids) },
  { title: 'a tool, without one', ids: 'stateless', announce: (ids) => edit(home, '2026-07-28', ids) },
  { title: 'another Worker', ids: 'worker', announce: (ids) => visit(elsewhere, `/edit?ids=${ids}`) },
  {
    title: 'a tool elsewhere, in a session',
    ids: 'far-session',
    announce: (ids) => edit(elsewhere, '2025-11-25', ids),
  },
  {
    title: 'a tool elsewhere, without one',
    ids: 'far-stateless',
    announce: (ids) => edit(elsewhere, '2026-07-28', ids),
  },
]

const notesOf = (ids: string) => [`note://${ids}-1`, `note://${ids}-2`] as const
const allFirst = sources.map(({ ids }) => notesOf(ids)[0])
const allNotes = 'note://{id}'
const [probe, end] = ['note://probe', 'note://end']

/** What clients listen to, and which of two notes they hear of then. Lists they hear of as their revision has it. */
const roles = {
  'by its URI': { uris: [...allFirst, probe, end], hears: ([first]: readonly string[]) => [first] },
  'by its template': { uris: [allNotes], hears: (notes: readonly string[]) => notes },
  'by both': { uris: [...allFirst, allNotes], hears: (notes: readonly string[]) => notes },
  'not any more': { uris: [probe, ...allFirst, allNotes], hears: () => [] },
} as const
type Role = keyof typeof roles

type Member = {
  role: Role
  generation: Generation
  client: Client
  /** How much it had heard before each of the sources. */
  marks: Map<string, number>
}

const members: Member[] = []

/** A message about a change, in one word. */
function wordFor({ method, params }: Message): string | undefined {
  if (method === 'notifications/resources/updated') return String(params?.uri)
  return /^notifications\/(\w+)\/list_changed$/.exec(method ?? '')?.[1]
}

/** What a client heard from when one source began until the next one did, in words. */
function heardFrom({ client, marks }: Member, ids: string): string[] {
  const at = sources.findIndex((source) => source.ids === ids)
  const next = sources[at + 1]
  const window = client.heard.slice(marks.get(ids), next && marks.get(next.ids))
  return window.flatMap((message) => wordFor(message) ?? []).filter((word) => word !== probe && word !== end)
}

/** What it is to hear. In sessions everybody hears of lists; without one, only who asked. */
function dueFrom({ role, generation }: Member, ids: string): string[] {
  const hearsLists = role !== 'not any more' || generation.revision !== '2026-07-28'
  const lists = hearsLists ? ['tools', 'prompts', 'resources'] : []
  return [...(roles[role].hears(notesOf(ids)) as string[]), ...lists]
}

const nameOf = ({ role, generation }: Member) => `${generation.name}, ${role}`

/** Says a note until everybody has heard of it so often: the stream that brings changes may be on its way. */
async function allHear(uri: string, times: number): Promise<void> {
  const missing = ({ client }: Member) => client.updates.filter((update) => update === uri).length < times
  const all = async () => {
    await visit(home, `/probe?id=${uri.slice('note://'.length)}`)
    expect(members.filter(missing).map(nameOf)).toEqual([])
  }
  await vi.waitFor(all)
}

beforeAll(async () => {
  const stopping: { stop(): Promise<void> }[] = []
  for (const generation of generations) {
    await Promise.all(
      Object.entries(roles).map(async ([name, { uris }]) => {
        const role = name as Role
        const client = await generation.connect(url, {})
        members.push({ role, generation, client, marks: new Map() })
        const watch = await client.watch(...uris)
        if (role === 'not any more') stopping.push(watch)
      }),
    )
  }
  await allHear(probe, 1)
  await Promise.all(stopping.map((watch) => watch.stop()))
})
afterAll(() =>
  Promise.all(
    members.map(({ client }) =>
      client
        .end()
        .catch(() => {})
        .then(() => client.close()),
    ),
  ),
)

test.each(generations)('$name negotiates $revision', ({ name, revision }) => {
  const those = members.filter(({ generation }) => generation.name === name)
  expect(those.map(({ client }) => client.revision)).toEqual(those.map(() => revision))
  expect(those).toHaveLength(Object.keys(roles).length)
})

/** In which isolate each of the sources said so, if it tells. */
const saidIn = new Map<string, unknown>()

test.each(sources)('every subscriber is notified of the changes that $title publishes', async ({ ids, announce }) => {
  for (const { client, marks } of members) marks.set(ids, client.heard.length)
  saidIn.set(ids, await announce(ids))
  const missing = () =>
    members.flatMap((member) => {
      const heard = heardFrom(member, ids)
      return dueFrom(member, ids).flatMap((word) => (heard.includes(word) ? [] : [`${nameOf(member)}: ${word}`]))
    })
  await expect.poll(missing).toEqual([])
})

/** How many notes the client of each role heard of, and how many lists; `ODD` when they are not those it is to hear of. */
function cellOf(generation: Generation, ids: string): string {
  const those = Object.keys(roles).flatMap((role) =>
    members.filter((member) => member.generation === generation && member.role === role),
  )
  const heard = those.map((member) => heardFrom(member, ids))
  const isDue = those.every((member, at) => heard[at]?.toSorted().join() === dueFrom(member, ids).toSorted().join())
  if (!isDue) return 'ODD'
  const notes = heard.map((words) => words.filter((word) => word.startsWith('note:')).length)
  const lists = heard.map((words, at) => words.length - (notes[at] as number))
  return `${notes.join('')} ${lists.join('')}`
}

const legend = [
  'Of two notes: how many are heard of by a client that listens to one by its URI, to both by their template, to one by',
  'its URI and to both by their template, and by one that does not listen any more. Of three lists: the same clients.',
]

function tableOfChanges(): string {
  const namesOf = (part: number) => generations.map(({ name }) => name.split(/ over |, /)[part] ?? '')
  const rows = [
    ['', ...generations.map(({ revision }) => revision)],
    ['', ...namesOf(0)],
    ['', ...namesOf(1)],
    ...sources.map(({ title, ids }) => [title, ...generations.map((generation) => cellOf(generation, ids))]),
  ]
  const lines = rows.map(([title = '', ...row]) => title.padEnd(32) + row.map((text) => text.padEnd(13)).join(''))
  return [...lines.map((line) => line.trimEnd()), '', ...legend].join('\n')
}

test('no client gets a notification twice, or of changes that it did not subscribe to', async () => {
  for (const { role, client } of members) if (role === 'not any more') await client.watch(end)
  // What is said again soon is told a moment later, after everything that was said before.
  await allHear(end, 2)
  const table = tableOfChanges()
  console.log(`\n${table}\n`)
  for (const member of members) {
    for (const { ids } of sources) {
      expect(heardFrom(member, ids).toSorted(), nameOf(member)).toEqual(dueFrom(member, ids).toSorted())
    }
    expect(member.client.complaints, nameOf(member)).toEqual([])
  }
  expect(table).toBe(expected)
})

const expected = `\
                                2026-07-28   2025-11-25   2025-11-25   2025-11-25   2025-06-18   2025-03-26   2024-11-05
                                client 2.4.0 client 2.4.0 sdk 1.32.2   sdk 1.32.2   sdk 1.23.1   sdk 1.12.3   sdk 1.9.0
                                pinned       legacy                    HTTP+SSE                               HTTP+SSE
a cron trigger                  1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333
a message in a queue            1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333
a tool, in a session            1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333
a tool, without one             1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333
another Worker                  1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333
a tool elsewhere, in a session  1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333
a tool elsewhere, without one   1220 3330    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333    1220 3333

Of two notes: how many are heard of by a client that listens to one by its URI, to both by their template, to one by
its URI and to both by their template, and by one that does not listen any more. Of three lists: the same clients.`

test('the changes of another isolate were published there', async () => {
  const [near, far] = [
    ['queue', 'session', 'stateless'],
    ['worker', 'far-session', 'far-stateless'],
  ].map((those) => new Set(those.map((ids) => saidIn.get(ids)))) as [Set<string>, Set<string>]
  expect([...near, ...far]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), expect.stringMatching(/^[\da-f-]{36}$/)])
  expect([...near]).not.toEqual([...far])
})
