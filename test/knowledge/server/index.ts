/** A server with documents. Some of them are not what `knowledge()` expects. */
import { createServer, serve } from 'edgemcp'
import { knowledge } from 'edgemcp/knowledge'
import { sessions } from 'edgemcp/sessions'

const url = 'https://example.com/tea'
const tea = { id: 'tea', title: 'Tea', url, text: 'Boil water.', metadata: { author: 'Ada' }, content: ['private'] }
const rows: Readonly<Record<string, unknown>> = {
  tea,
  bare: { id: 'bare', title: 'Bare', url, text: '' },
  null: null,
  text: 'Boil water.',
  relative: { ...tea, url: '/tea' },
  script: { ...tea, url: 'javascript:alert(1)' },
  spaces: { ...tea, url: ' https://example.com/a tea' },
  lines: { ...tea, url: 'https://exa\nmple.com/tea' },
  password: { ...tea, url: 'https://ada:secret@example.com/tea' },
  titleless: { ...tea, title: undefined },
  metadata: { ...tea, metadata: ['Ada'] },
  'metadata date': { ...tea, metadata: new Date(0) },
  'metadata list': { ...tea, metadata: { toJSON: () => ['Ada'] } },
  'metadata function': { ...tea, metadata: () => ({ author: 'Ada' }) },
  'metadata null': { ...tea, metadata: null },
  'metadata inner': { ...tea, metadata: { published: new Date(0), author: undefined } },
}
const found: Readonly<Record<string, unknown>> = {
  tea: [tea],
  nothing: [],
  object: { tea },
  number: [tea, { ...tea, id: 1 }],
  null: [tea, null],
  empty: [{ ...tea, url: '' }],
}
// The values are wrong on purpose.
const anything = (value: unknown) => value as never

const server = createServer({ name: 'knowledge', version: '1.0.0' })
server.use(
  knowledge({
    description: 'The documents are about tea.',
    search: (query, ctx) => {
      if (query === 'client') return [{ id: ctx.client?.name ?? '', title: '', url }]
      if (query === 'throw') throw new Error('The index is being built')
      return anything(found[query])
    },
    fetch: async (id) => anything(rows[id]),
  }),
)

const worker = serve(server, { plugins: [sessions()] })
export default worker
export const { McpSession } = worker
