/** The pages of docs/reference/api, as a reader sees them. */
import { expect, test } from 'vitest'
import { reference } from '../../scripts/docs/reference.ts'

const pages = reference()

/** The pages of an entry point: `edgemcp` has several. */
const textOf = (page: string): string =>
  page === 'edgemcp'
    ? [...pages].flatMap(([path, text]) => (path.startsWith('docs/reference/api/edgemcp') ? [text] : [])).join('\n')
    : (pages.get(`docs/reference/api/${page}.md`) ?? '')

/** The text under a heading, up to the next heading of the same or a higher level. */
function under(page: string, heading: string): string {
  const lines = textOf(page).split('\n')
  const first = lines.indexOf(heading)
  expect(first, `${heading} in ${page}.md`).toBeGreaterThan(-1)
  const level = heading.indexOf(' ')
  const rest = lines.slice(first + 1)
  const last = rest.findIndex((line) => /^#+ /.test(line) && line.indexOf(' ') <= level)
  return rest.slice(0, last < 0 ? undefined : last).join('\n')
}

test('no page of the API has more than a thousand lines', () => {
  expect([...pages].flatMap(([path, text]) => (text.split('\n').length > 1000 ? [path] : []))).toEqual([])
})

test('a method that users call has a section with its signature, parameters and errors', () => {
  const tool = under('edgemcp', '#### Server.tool()')
  expect(tool).toContain('Registers a tool.')
  expect(tool).toContain('```typescript\ntool<')
  expect(tool).toContain('- Parameter `name`: 1 to 128 letters')
  expect(tool).toContain('- Returns: a handle that enables and disables the tool')
  expect(tool).toContain('- Throws: Error for an invalid name')
  expect(tool).toContain('- See <https://modelcontextprotocol.io/specification/2026-07-28/server/tools>')
  expect(under('edgemcp', '#### Context.elicit()')).toContain('- Parameter `key`: identifies the input request')
  expect(under('edgemcp', '### Context')).toContain('| `signal` | `AbortSignal` |')
})

test('methods without parameters and options that are methods are table rows', () => {
  expect(under('edgemcp', '### ChangeNotifier')).toContain('| `toolsChanged` |')
  expect(under('tasks', '### TaskOptions')).not.toContain('####')
})

test('the section of an overloaded function has the signature of every overload, and not that of the implementation', () => {
  const text = under('state', '### state')
  expect(text.match(/^function state</gm)).toHaveLength(4)
  expect(text).toContain('): HandleState<StateStub<O>>')
  expect(text).not.toContain('): unknown')
})

test('a type name that several entry points export links to the right export', () => {
  expect(under('observe', '### ObserveOptions')).toContain('(#sink)')
  expect(under('audit', '### AuditOptions')).toContain('(#sink)')
  expect(under('audit', '### AuditEvent')).toContain('[`Who \\| undefined`](#who)')
  expect(under('auth', '### ClaimOptions')).toContain('(#tokenclaims)')
  expect(under('auth', '### ClaimOptions')).not.toContain('edgemcp.md#claims')
})

test('every function shows the type that it returns', () => {
  const functions = [...pages.values()].flatMap((text) =>
    text.split(/^### /m).flatMap((section) => {
      const [, name, signature = ''] = /^(\w+)\n[\s\S]*?```typescript\n([\s\S]*?)\n```/.exec(section) ?? []
      return /^(?:function|const) \w+(?:<| = |\()/.test(signature) ? [{ name, signature }] : []
    }),
  )
  expect(functions.map(({ name }) => name)).toContain('routeHandler')
  expect(functions.filter(({ signature }) => !/\): \S/.test(signature))).toEqual([])
})

test('a method has the signatures of all its overloads', () => {
  const signatures = under('edgemcp', '#### Server.tool()').match(/^tool</gm)
  expect(signatures).toHaveLength(4)
})

test('an object shows its members with their descriptions', () => {
  const text = under('edgemcp', '### policies')
  expect(text).toMatch(/\| `local` \|.*\| Accepts this machine only/)
  expect(text).toContain('#### policies.browser()')
  expect(text).toContain('browser(options: BrowserOptions): Policy')
  expect(text).not.toContain('readonly local')
})

test('each form of a union has its description', () => {
  expect(under('inspector', '### InspectorOptions')).toContain('| `{ open: true }` | Everyone who opens the page')
  expect(under('edgemcp', '### FormResult')).toContain('`content`: The validated content of the form')
  expect(under('observe', '### CallOutcome')).toContain('The model receives the message.')
  expect(under('subscriptions', '### Recipients')).toContain('`tenant`: Tenant whose principals')
  expect(under('testing', '### DurableObjectRef')).toMatch(/\| `\{ readonly task: string \}` \| \w/)
  expect(under('edgemcp', '### SamplingRequest')).toContain('`prompt`: Text of one user message')
})

test('types of MCP have one table row each', () => {
  expect(under('edgemcp', '## Types of MCP')).toMatch(
    /`Implementation` \| Names a client or a server, and its version\. \|/,
  )
})

test('a destructured parameter has a name', () => {
  expect(under('testing', '### transcript')).toContain('function transcript(options?: TranscriptOptions): Transcript')
})

test('the constructor of a class that users create is shown', () => {
  const text = under('edgemcp', '### McpError')
  expect(text).toContain('new McpError(kind: ErrorKind, message: string')
  expect(text).toContain('- Parameter `message`: what is wrong')
  expect(under('edgemcp', '### Server')).not.toContain('new Server(')
})

test('the list of entry points has whole descriptions', () => {
  expect(pages.get('docs/reference/api/index.md')).toContain(
    'Test a Worker inside workerd, with `@cloudflare/vitest-plugin`.',
  )
})

test('types that users write can be imported', () => {
  for (const name of ['AccessOptions', 'StoredPrincipals']) {
    expect(under('edgemcp', `### ${name}`)).not.toContain('Not exported')
  }
  for (const name of ['ReplayLimits', 'SessionOptions']) {
    expect(under('sessions', `### ${name}`)).not.toContain('Not exported')
  }
  for (const name of ['Call', 'CallEnvironment', 'Changes', 'Journal', 'Provided', 'Seals'])
    under('edgemcp', `### ${name}`)
})

test('a type that names several exports has a link for each', () => {
  expect(under('edgemcp', '### Plugin')).toContain(
    '| `(runtime: `[`Runtime`](#runtime)`): readonly `[`Route`](#route)`[]` |',
  )
})

test('a type that is computed from values is shown in full', () => {
  const text = under('edgemcp', '## Other types')
  expect(text).toContain("'call_interrupted' \\|")
  expect(text).not.toContain('more ...')
})
