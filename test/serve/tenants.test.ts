/**
 * Changes under random schedules: people of several tenants listen in all the ways there are, leave and come back, while
 * things change for all or for one tenant. Everybody hears of what is for them, once; nobody hears of anything else.
 *
 * `npm run test:slow` plays many more schedules than `npm test`.
 * `TENANT_SEEDS=17` plays one schedule again, `TENANT_SEEDS=2000-4000` others than usual.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chance } from '../support/random.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Case } from './tenants/case.ts'
import { HttpEar, Listener, SseEar } from './tenants/ears.ts'

/** Servers that schedules are played on at once. */
const lanes = [0, 1, 2, 3]

let server: TestServer
beforeAll(async () => {
  server = await startServer('test/serve/tenants')
})
afterAll(() => server[Symbol.asyncDispose]())

test('subscribers of a template get changes of its resources, unless a preceding template hides them', async () => {
  const url = new URL('/0/mcp', server.url)
  const bob = { subject: 'bob', tenant: undefined }
  const ears = [new Listener('a listener', bob, url), new HttpEar('a session', bob, url, '2025-11-25')]
  try {
    for (const ear of ears) await ear.open(['memo://{seed}/{id}'])
    for (const uri of ['memo://0/secret', 'memo://0/plain']) {
      await fetch(new URL('announce', url), { method: 'POST', body: JSON.stringify([{ uri }]) })
    }
    for (const ear of ears) await ear.until(() => ear.heard.includes('memo://0/plain'))
  } finally {
    for (const ear of ears) await ear.end()
  }
  expect(ears.map(({ heard, complaints }) => ({ heard, complaints }))).toEqual(
    ears.map(() => ({ heard: ['memo://0/plain'], complaints: [] })),
  )
})

test('a change for a tenant does not reach a tenant of the same name of another issuer', async () => {
  const url = new URL('/1/mcp', server.url)
  const announce = (change: object) =>
    fetch(new URL('announce', url), { method: 'POST', body: JSON.stringify([change]) })
  const issuers = ['https://one.example', 'https://two.example']
  const ears = issuers.flatMap((issuer) => {
    const person = { issuer, subject: 'ada', tenant: 'acme' }
    return [
      new Listener('a listener', person, url),
      new HttpEar('a session', person, url, '2025-11-25'),
      new SseEar('over HTTP+SSE', person, url),
    ]
  })
  try {
    for (const ear of ears) await ear.open(['tools', 'note://0/1', 'note://0/2', 'note://0/3'])
    await announce({ uri: 'note://0/1', issuer: 'https://one.example', tenant: 'acme' })
    await announce({ uri: 'note://0/2', issuer: 'https://two.example', tenant: 'acme' })
    await announce({ list: 'tools', issuer: 'https://two.example', tenant: 'acme' })
    await announce({ uri: 'note://0/3' })
    for (const ear of ears) await ear.until(() => ear.heard.includes('note://0/3'))
  } finally {
    for (const ear of ears) await ear.end()
  }
  const one = ['note://0/1', 'note://0/3']
  const two = ['note://0/2', 'note://0/3', 'tools']
  expect(ears.map(({ heard }) => heard.toSorted())).toEqual([one, one, one, two, two, two])
})

function seeds(usual: number): number[] {
  const [first = 1, last = first] = (process.env.TENANT_SEEDS ?? `1-${usual}`).split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

const all = seeds(30)

test(
  'each subscriber gets each change it may read once, and no change of another tenant',
  async () => {
    const waiting = [...all]
    const played: Case[] = []
    async function work(lane: number): Promise<void> {
      for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
        const one = new Case(seed, chance(seed), new URL(`/${lane}/mcp`, server.url))
        await one.play()
        played.push(one)
      }
    }
    await Promise.all(lanes.map(work))
    expect(played).toHaveLength(all.length)
    const heard = played.reduce((sum, one) => sum + one.heard, 0)
    // A single schedule may be a silent one.
    if (all.length >= 30) expect(heard).toBeGreaterThan(2 * all.length)
  },
  120_000 + all.length * 2_000,
)
