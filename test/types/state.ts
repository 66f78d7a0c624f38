import { createServer } from 'edgemcp'
import { type Store, state } from 'edgemcp/state'
import { type Equal, is } from './equal.ts'

const server = createServer({ name: 'types', version: '1.0.0' })
const day = 24 * 60 * 60_000

const visits = state('visits', { per: 'user', ttl: day }, (store: Store<{ count: number; last: Date }>) => ({
  add(by: number) {
    store.put('count', (store.get('count') ?? 0) + by)
    return { count: store.get('count'), last: store.get('last') }
  },
  reset: () => store.delete('last'),
}))
const basket = state('basket', { per: 'handle', ttl: day }, (store: Store<Record<string, number>>) => ({
  all: () => store.sql<{ name: string }>('SELECT name FROM items'),
}))
const prefs = state<{ theme: 'dark' | 'light' }>('prefs', { per: 'session' })

server.tool('t', { description: 'd' }, async (_, ctx) => {
  const mine = ctx.state(visits)
  const added = await mine.add(1)
  is<Equal<typeof added, { count: number | undefined; last: Date | undefined }>>()
  const had = await mine.reset()
  is<Equal<typeof had, boolean>>()
  await mine.deleteAll()

  const handle = await ctx.createHandle(basket)
  is<Equal<typeof handle, string>>()
  const rows = await ctx.state(basket, handle).all()
  is<Equal<typeof rows, { name: string }[]>>()

  const theme = await ctx.state(prefs).get('theme')
  is<Equal<typeof theme, 'dark' | 'light' | undefined>>()
  await ctx.state(prefs).put('theme', 'dark')

  // @ts-expect-error an operation takes what it says
  mine.add('one')
  // @ts-expect-error there is no such operation
  mine.remove()
  // @ts-expect-error a handle is needed
  ctx.state(basket)
  // @ts-expect-error there is no such value
  ctx.state(prefs).get('colour')
  // @ts-expect-error it is dark or light
  ctx.state(prefs).put('theme', 'blue')
  // @ts-expect-error only a state found by handles has them
  ctx.createHandle(visits)
})

// @ts-expect-error whose life is nobody else's needs its own
state('user', { per: 'user' })
// @ts-expect-error a session has a life
state('session', { per: 'session', ttl: day })
// @ts-expect-error there is no such scope
state('environment', { scope: 'environment', ttl: day })

state('keys', { per: 'user', ttl: day }, (store: Store<{ count: number }>) => ({
  // @ts-expect-error there is no such key
  get: () => store.get('total'),
  // @ts-expect-error it is a number
  put: () => store.put('count', 'one'),
}))
