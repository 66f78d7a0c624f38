/** Which variables a template has, wherever they turn up. */
import { createServer, type Principal, type ResourceHandle } from 'edgemcp'
import { type Equal, is } from './equal.ts'

const server = createServer({ name: 'types', version: '1' })
const description = 'd'

/** The variables that a handler of this template gets. */
declare const variables: <const U extends string>(uri: U) => Parameters<Parameters<typeof server.resource<U>>[2]>[0]

const fixed = variables('note://all')
is<Equal<typeof fixed, Record<never, never>>>()

const one = variables('note://{id}')
is<Equal<typeof one, { id: string }>>()

const two = variables('note://{folder}/{id}')
is<Equal<typeof two, { folder: string; id: string }>>()

const together = variables('map://{x,y}')
is<Equal<typeof together, { x: string; y: string }>>()

const reserved = variables('file:///{+path}{#part}')
is<Equal<typeof reserved, { path: string; part: string }>>()

const pieces = variables('a://x{/folder}{.extension}')
is<Equal<typeof pieces, { folder: string; extension: string }>>()

const prefix = variables('a://{id:3}')
is<Equal<typeof prefix, { id: string }>>()

const exploded = variables('a://{list*}{/path*}')
is<Equal<typeof exploded, { list: string[]; path: string[] }>>()

const mixed = variables('a://{x,list*,y:3}')
is<Equal<typeof mixed, { x: string; list: string[]; y: string }>>()

const query = variables('a://x{?q,lang}')
is<Equal<typeof query, { q?: string; lang?: string }>>()

const more = variables('a://x?fixed=1{&q}{;p}')
is<Equal<typeof more, { q?: string; p?: string }>>()

const tags = variables('a://{id}{?tag*,limit}')
is<Equal<typeof tags, { id: string; tag?: string[]; limit?: string }>>()

const dotted = variables('a://{note.id}')
is<Equal<typeof dotted, { 'note.id': string }>>()

// The handler.

const note = server.resource('note://{id}{?lang}', { description }, ({ id, lang }, ctx) => {
  is<Equal<typeof id, string>>()
  is<Equal<typeof lang, string | undefined>>()
  is<Equal<typeof ctx.uri, string>>()
  is<Equal<ReturnType<typeof ctx.supports>, boolean>>()
  return `${id} ${lang}`
})
const all = server.resource('note://all', { description, size: 5 }, () => 'all')
// @ts-expect-error there is no such variable
server.resource('a://{id}', { description }, ({ name }) => name)
// @ts-expect-error a fixed resource has none
server.resource('a://all', { description }, ({ id }) => id)
// @ts-expect-error a list is no text
server.resource('a://{ids*}', { description }, ({ ids }) => ids.toUpperCase())
// @ts-expect-error it may be left out
server.resource('a://x{?q}', { description }, ({ q }) => q.toUpperCase())

// The handle.

is<Equal<typeof note, ResourceHandle<'note://{id}{?lang}'>>>()
is<Equal<ReturnType<typeof note.uri>, string>>()
is<Equal<ReturnType<typeof note.updated>, Promise<void>>>()
note.uri({ id: '1' })
note.uri({ id: '1', lang: 'en' })
note.updated({ id: '1' })
declare const principal: Principal | undefined
if (principal) note.updated({ id: '1' }, principal)
// @ts-expect-error an anonymous caller selects nobody, and not everyone
note.updated({ id: '1' }, principal)
// @ts-expect-error an anonymous caller selects nobody, and not everyone
server.notify.resourcesChanged(principal)
all.uri()
all.updated()
// @ts-expect-error an id is needed
note.uri()
// @ts-expect-error an id is needed
note.uri({ lang: 'en' })
// @ts-expect-error an id is a text
note.uri({ id: 1 })
// @ts-expect-error there is no such variable
note.updated({ id: '1', colour: 'red' })
// @ts-expect-error a fixed resource has none
all.uri({ id: '1' })

// A handle of a template with nothing but a query.
const search = server.resource('a://search{?q}', { description }, () => 'found')
search.uri({ q: 'x' })
search.uri({})

// What a handler returns.

server.resource('a://constant', { description }, (_, { uri }) => ({ contents: [{ uri, text: 'text' }] }) as const)

// Lists.

server.resource('a://{id}', { description, list: () => [{ id: '1' }, { id: '2', title: 'Two', size: 5 }] }, () => '')
server.resource(
  'a://{id}',
  { description, list: async ({ principal }) => (principal ? [{ id: principal.subject }] : []) },
  () => '',
)
server.resource('a://{id}', { description, list: () => [{ id: '1', title: 'One' }] as const }, () => '')
// @ts-expect-error an id is needed
server.resource('a://{id}', { description, list: () => [{ title: 'Two' }] }, () => '')
// @ts-expect-error an id is a text
server.resource('a://{id}', { description, list: () => [{ id: 1 }] }, () => '')
// A variable may be called like something that is listed.
server.resource('a://{name}', { description, list: () => [{ name: 'x' }] }, ({ name }) => name)

// Completers.

server.resource(
  'a://{folder}/{id}{?tag*}',
  {
    description,
    complete: {
      id: (prefix, known) => {
        is<Equal<typeof prefix, string>>()
        is<Equal<typeof known.folder, string | undefined>>()
        return [prefix, known.folder ?? '']
      },
      folder: async () => ({ values: ['a'], total: 5, hasMore: true }),
      tag: () => [],
    },
  },
  () => '',
)
// @ts-expect-error there is no such variable
server.resource('a://{id}', { description, complete: { name: () => [] } }, () => '')
// @ts-expect-error values are texts
server.resource('a://{id}', { description, complete: { id: () => [1] } }, () => '')

// What a resource returns.

server.resource('a:text', { description }, () => 'text')
server.resource('a:bytes', { description }, () => new Uint8Array())
server.resource('a:buffer', { description }, () => new ArrayBuffer(1))
server.resource('a:contents', { description }, () => ({ text: 'text', mimeType: 'text/plain' }))
server.resource('a:several', { description }, () => ['text', new Uint8Array(), new ArrayBuffer(1), { blob: '' }])
server.resource('a:result', { description }, () => ({ contents: [{ uri: 'a:b', text: 'text' }] }))
server.resource('a:nothing', { description }, () => undefined)
server.resource('a:null', { description }, async () => null)
// @ts-expect-error a number is no text
server.resource('a:number', { description }, () => 5)
// @ts-expect-error contents have text or a blob
server.resource('a:empty', { description }, () => ({ mimeType: 'text/plain' }))
server.resource('a:undescribed', {}, () => '')
// @ts-expect-error caching is for so long and for someone
server.resource('a:kept', { description, caching: { ttlMs: 5 } }, () => '')
