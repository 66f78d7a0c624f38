import * as v from 'valibot'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { jsonSchema } from '../../worker/declarations/json-schema/index.ts'
import { createServer, type Server } from '../../worker/declarations/server.ts'
import type { Caching } from '../../worker/protocol/types.ts'
import { deliverChanges } from '../support/changes.ts'

const newServer = () => createServer({ name: 'test', version: '1', jsonSchema })
const description = 'd'
const text = () => 'text'

/** Declarations that a type checker would refuse, as JavaScript makes them. */
type Loose = Record<'tool' | 'resource' | 'prompt', (...args: unknown[]) => unknown>
const loose = (server: Server) => server as unknown as Loose

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Declares something with a server of development, or of a deployment. */
async function declareIn(
  mode: 'development' | 'production',
  use: (server: Loose & Record<string, (...args: unknown[]) => unknown>) => unknown,
) {
  vi.stubEnv('NODE_ENV', mode)
  vi.resetModules()
  const { createServer } = await import('../../worker/declarations/server.ts')
  return use(createServer({ name: 'test', version: '1', jsonSchema }) as unknown as Parameters<typeof use>[0])
}

describe('definitions in the style of the official SDK are errors that name the fix', () => {
  const declare = (use: Parameters<typeof declareIn>[1]) => declareIn('development', use)
  const input = z.object({ a: z.string() })

  test.each<[string, Parameters<typeof declare>[0], string]>([
    [
      'parameters',
      (s) => s.tool('t', { description, parameters: input }, text),
      'tool "t" does not take "parameters": write "inputSchema"',
    ],
    ['input', (s) => s.tool('t', { description, input }, text), 'tool "t" does not take "input": write "inputSchema"'],
    [
      'output',
      (s) => s.tool('t', { description, output: input }, text),
      'tool "t" does not take "output": write "outputSchema"',
    ],
    [
      'args',
      (s) => s.prompt('p', { description, args: input }, text),
      'prompt "p" does not take "args": write "argsSchema"',
    ],
    [
      'a member of no name that is known',
      (s) => s.tool('t', { description, inptuSchema: input }, text),
      'tool "t" does not take "inptuSchema" (did you mean "inputSchema"?): it takes title, description, icons, _meta, inputSchema, outputSchema, annotations, singleUse, task, scopes, rateLimit, listWithoutScopes, visibleTo and enabled',
    ],
    [
      'a handler in the definition',
      (s) => s.tool('t', { description, handler: text }, text),
      'tool "t" does not take "handler": give the handler as the third argument',
    ],
    [
      'a resource with a member of tools',
      (s) => s.resource('a://b', { description, inputSchema: input }, text),
      'resource "a://b" does not take "inputSchema": it takes name, title, description, icons, _meta, mimeType, size, annotations, caching, authorize, filterCompletions, list, complete, scopes, rateLimit, listWithoutScopes, visibleTo and enabled',
    ],
    [
      'tool(name, description, shape, handler)',
      (s) => s.tool('t', 'A tool', { a: z.string() }, text),
      'The tool "t" has "A tool" in place of its definition: write server.tool("t", { description: "…", inputSchema: z.object({ … }) }, handler)',
    ],
    [
      'tool(name, handler)',
      (s) => s.tool('t', text),
      'The tool "t" has a function in place of its definition: write server.tool("t", { description: "…", inputSchema: z.object({ … }) }, handler)',
    ],
    [
      'prompt(name, shape, handler) with a text',
      (s) => s.prompt('p', 'A prompt', text),
      'The prompt "p" has "A prompt" in place of its definition: write server.prompt("p", { description: "…", argsSchema: z.object({ … }) }, handler)',
    ],
    [
      'resource(name, uri, handler)',
      (s) => s.resource('notes', 'note://1', text),
      'The resource "notes" has "note://1" in place of its definition: write server.resource("note://1", { name: "notes", description: "…" }, handler)',
    ],
    [
      'no definition',
      (s) => s.tool('t'),
      'The tool "t" has undefined in place of its definition: write server.tool("t", { description: "…", inputSchema: z.object({ … }) }, handler)',
    ],
    [
      'registerTool',
      (s) => s.registerTool?.('t', {}, text),
      'edgemcp has no server.registerTool(): write server.tool(name, { description, inputSchema: schema }, handler)',
    ],
    [
      'addTool',
      (s) => s.addTool?.({ name: 't', parameters: input, execute: text }),
      'edgemcp has no server.addTool(): write server.tool(name, { description, inputSchema: schema }, handler)',
    ],
    [
      'start',
      (s) => s.start?.({ transportType: 'httpStream' }),
      'edgemcp has no server.start(): write export default serve(server) in place of a transport',
    ],
    [
      'fetch, of a server that a Worker exports',
      (s) => s.fetch?.(new Request('http://localhost/mcp')),
      'edgemcp has no server.fetch(): write export default serve(server)',
    ],
    [
      'registerResource',
      (s) => s.registerResource?.('n', 'a://b', {}, text),
      'edgemcp has no server.registerResource(): write server.resource(uri, { name, description }, handler)',
    ],
    [
      'registerPrompt',
      (s) => s.registerPrompt?.('p', {}, text),
      'edgemcp has no server.registerPrompt(): write server.prompt(name, { description, argsSchema: schema }, handler)',
    ],
    [
      'setRequestHandler',
      (s) => s.setRequestHandler?.({}, text),
      'edgemcp has no server.setRequestHandler(): declare tools, resources and prompts instead, or use server.intercept(fn)',
    ],
    [
      'connect',
      (s) => s.connect?.({}),
      'edgemcp has no server.connect(): write export default serve(server) in place of a transport',
    ],
  ])('%s', async (_, use, problem) => {
    await expect(declare(use)).rejects.toThrow(problem)
  })

  test('an undefined member counts as absent', async () => {
    await expect(declare((s) => s.tool('t', { description, inputSchema: undefined }, text))).resolves.toBeDefined()
  })
})

describe('a member of a definition with an invalid value is an error', () => {
  const visibleTo = 'a function of the caller; to enable and disable it while the server runs, write enabled: false'
  const duration = "milliseconds, or a string such as '2s', '10m', '1h' or '7d'"
  const icons = "a list such as [{ src: 'https://…' }]"

  test.each<['tool' | 'resource' | 'prompt', object, string]>([
    ['tool', { visibleTo: false }, `"visibleTo" of tool "a" must be ${visibleTo}, not false`],
    ['resource', { visibleTo: true }, `"visibleTo" of resource "a:{id}" must be ${visibleTo}, not true`],
    ['prompt', { visibleTo: 'no' }, `"visibleTo" of prompt "a" must be ${visibleTo}, not "no"`],
    [
      'tool',
      { enabled: 'enabled' },
      '"enabled" of tool "a" must be true or false (visibleTo decides by caller), not "enabled"',
    ],
    ['tool', { enabled: 0 }, '"enabled" of tool "a" must be true or false (visibleTo decides by caller), not 0'],
    [
      'prompt',
      { enabled: null },
      '"enabled" of prompt "a" must be true or false (visibleTo decides by caller), not null',
    ],
    [
      'tool',
      { listWithoutScopes: () => false },
      '"listWithoutScopes" of tool "a" must be true or false, not a function',
    ],
    ['tool', { scopes: 'read' }, '"scopes" of tool "a" must be a list such as [\'notes:read\'], not "read"'],
    ['tool', { scopes: ['a b'] }, '"scopes" of tool "a" must be a list such as [\'notes:read\'], not ["a b"]'],
    ['tool', { scopes: null }, '"scopes" of tool "a" must be a list such as [\'notes:read\'], not null'],
    ['tool', { rateLimit: '60/m' }, `"rateLimit" of tool "a" must be an object such as { rate: '60/m' }, not "60/m"`],
    [
      'tool',
      { rateLimit: { rates: '60/m' } },
      'tool "a" does not take "rateLimit.rates" (did you mean "rate"?): "rateLimit" takes rate, quota and concurrent',
    ],
    [
      'tool',
      { rateLimit: { rate: '60 per minute' } },
      `"rateLimit.rate" of tool "a" must be a string such as '60/m' or '10/10s', not "60 per minute"`,
    ],
    [
      'prompt',
      { rateLimit: { quota: '5/s' } },
      `"rateLimit.quota" of prompt "a" must be a string such as '10/m', '100/h' or '1000/d', not "5/s"`,
    ],
    [
      'tool',
      { rateLimit: { concurrent: 0 } },
      '"rateLimit.concurrent" of tool "a" must be a number of 1 or more, not 0',
    ],
    ['tool', { singleUse: 'yes' }, '"singleUse" of tool "a" must be true or false, not "yes"'],
    ['tool', { task: 'yes' }, `"task" of tool "a" must be true, false or an object such as { ttl: '1h' }, not "yes"`],
    [
      'tool',
      { task: { retry: 3 } },
      'tool "a" does not take "task.retry" (did you mean "retries"?): "task" takes required, answerWithin, ttl, pollInterval and retries',
    ],
    ['tool', { task: { ttl: 'long' } }, `"task.ttl" of tool "a" must be ${duration}, not "long"`],
    ['tool', { task: { ttl: -1 } }, `"task.ttl" of tool "a" must be ${duration}, not -1`],
    ['tool', { task: { ttl: '7days' } }, `"task.ttl" of tool "a" must be ${duration}, not "7days"`],
    ['tool', { task: { retries: '3' } }, '"task.retries" of tool "a" must be a whole number of 0 or more, not "3"'],
    ['tool', { icons: 'x.png' }, `"icons" of tool "a" must be ${icons}, not "x.png"`],
    [
      'prompt',
      { icons: [{ url: 'x.png' }] },
      'prompt "a" does not take "icons.url": "icons" takes src, mimeType, sizes and theme',
    ],
    ['tool', { icons: [{}] }, '"icons.src" of tool "a" must be a string, not undefined'],
    [
      'tool',
      { annotations: { readOnlyHint: 'yes' } },
      '"annotations.readOnlyHint" of tool "a" must be true or false, not "yes"',
    ],
    [
      'tool',
      { annotations: { readonly: true } },
      'tool "a" does not take "annotations.readonly" (did you mean "readOnlyHint"?): "annotations" takes title, readOnlyHint, destructiveHint, idempotentHint and openWorldHint',
    ],
    [
      'resource',
      { annotations: { audience: 'user' } },
      `"annotations.audience" of resource "a:{id}" must be a list of 'user' and 'assistant', not "user"`,
    ],
    [
      'resource',
      { annotations: { priority: 5 } },
      '"annotations.priority" of resource "a:{id}" must be a number from 0 to 1, not 5',
    ],
    ['resource', { list: [{ id: '1' }] }, '"list" of resource "a:{id}" must be a function, not [an object]'],
    ['resource', { authorize: true }, '"authorize" of resource "a:{id}" must be a function, not true'],
    [
      'resource',
      { complete: { id: ['a'] } },
      '"complete" of resource "a:{id}" must be a plain object of functions, not an object',
    ],
    ['prompt', { complete: ['a'] }, '"complete" of prompt "a" must be a plain object of functions, not ["a"]'],
    ['resource', { size: '5' }, '"size" of resource "a:{id}" must be a whole number of 0 or more, not "5"'],
    ['resource', { mimeType: 5 }, '"mimeType" of resource "a:{id}" must be a string, not 5'],
    ['tool', { title: 5 }, '"title" of tool "a" must be a string, not 5'],
    ['tool', { description: 5 }, '"description" of tool "a" must be a string, not 5'],
    ['tool', { _meta: 'x' }, '"_meta" of tool "a" must be an object, not "x"'],
    ['tool', { inputSchema: null }, '"inputSchema" of tool "a" must be a schema, not null'],
    ['prompt', { argsSchema: false }, '"argsSchema" of prompt "a" must be a schema, not false'],
  ])('%s: %j', async (kind, members, message) => {
    vi.resetModules()
    const { createServer } = await import('../../worker/declarations/server.ts')
    const server = createServer({ name: 'test', version: '1', jsonSchema })
    const declare = () => loose(server)[kind](kind === 'resource' ? 'a:{id}' : 'a', { description, ...members }, text)
    expect(declare).toThrow(new Error(message))
  })
})

describe.each(['development', 'production'] as const)('enabled, in %s', (mode) => {
  test.each<['tool' | 'resource' | 'prompt', string]>([
    ['tool', 'a'],
    ['resource', 'a:{id}'],
    ['prompt', 'a'],
  ])('of a %s must not be a function', async (kind, name) => {
    const declare = declareIn(mode, (s) => s[kind](name, { description, enabled: () => false }, text))
    await expect(declare).rejects.toThrow(
      new Error(`"enabled" of ${kind} "${name}" must be true or false (visibleTo decides by caller), not a function`),
    )
  })

  test.each(['disabled', null, 0])('must not be %j', async (enabled) => {
    const declare = declareIn(mode, (s) => s.tool('a', { description, enabled }, text))
    await expect(declare).rejects.toThrow('"enabled" of tool "a" must be true or false')
  })

  test.each([true, false, undefined])('can be %j', async (enabled) => {
    await expect(declareIn(mode, (s) => s.tool('a', { description, enabled }, text))).resolves.toBeDefined()
  })
})

describe('an invalid declaration is an error of one sentence that names the fix', () => {
  test.each<[string, (server: Loose) => unknown, string]>([
    // Tools.
    [
      'a tool name with a space',
      (s) => s.tool('a b', { description }, text),
      'The tool name "a b" must be 1 to 128 letters, digits, "_", "." or "-"',
    ],
    [
      'a tool without a name',
      (s) => s.tool('', { description }, text),
      'The tool name "" must be 1 to 128 letters, digits, "_", "." or "-"',
    ],
    [
      'a tool name in another script',
      (s) => s.tool('日', { description }, text),
      'The tool name "日" must be 1 to 128 letters, digits, "_", "." or "-"',
    ],
    [
      'a long tool name',
      (s) => s.tool('a'.repeat(129), { description }, text),
      `The tool name "${'a'.repeat(129)}" must be 1 to 128 letters, digits, "_", "." or "-"`,
    ],
    [
      'a tool without a description',
      (s) => s.tool('a', {}, text),
      'The tool "a" needs a description: models choose tools by it',
    ],
    [
      'a tool with an empty description',
      (s) => s.tool('a', { description: '' }, text),
      'The tool "a" needs a description: models choose tools by it',
    ],
    [
      'a tool with a handler instead of a definition',
      (s) => s.tool('a', text),
      'The tool "a" has a function in place of its definition: write server.tool("a", { description: "…", inputSchema: z.object({ … }) }, handler)',
    ],
    [
      'a tool without a handler',
      (s) => s.tool('a', { description }),
      'The tool "a" needs a handler as its third argument',
    ],
    [
      'a tool with a string as input',
      (s) => s.tool('a', { description, inputSchema: z.string() }, text),
      'The inputSchema of tool "a" must be an object schema: wrap it in an object with one property',
    ],
    [
      'a tool with one of two objects as input',
      (s) => s.tool('a', { description, inputSchema: z.union([z.object({}), z.object({})]) }, text),
      'The inputSchema of tool "a" must be an object schema: wrap it in an object with one property',
    ],
    [
      'a tool with properties without a schema',
      (s) => s.tool('a', { description, inputSchema: { properties: {} } }, text),
      'The inputSchema of tool "a" must be an object schema: wrap it in an object with one property',
    ],
    [
      'a tool with an invalid schema',
      (s) => s.tool('a', { description, inputSchema: 'text' }, text),
      'The inputSchema of tool "a" must be a Standard Schema or a JSON Schema object',
    ],
    [
      'a tool with an invalid output schema',
      (s) => s.tool('a', { description, outputSchema: [] }, text),
      'The outputSchema of tool "a" must be a Standard Schema or a JSON Schema object',
    ],
    [
      'a tool with a bare valibot schema',
      (s) => s.tool('a', { description, inputSchema: v.object({}) }, text),
      'The inputSchema of tool "a" cannot be converted to JSON Schema: use zod 4.2 or newer, arktype, or toStandardJsonSchema() of @valibot/to-json-schema',
    ],
    [
      'a tool with a date in its input',
      (s) => s.tool('a', { description, inputSchema: z.object({ when: z.date() }) }, text),
      'The "when" of the inputSchema of tool "a" has no JSON Schema form: Date cannot be represented in JSON Schema. Use what JSON has, such as z.iso.datetime()',
    ],
    [
      'a tool of another dialect',
      (s) => s.tool('a', { description, inputSchema: { $schema: 'urn:mine', type: 'object' } }, text),
      'The inputSchema of tool "a" uses the JSON Schema dialect urn:mine: use 2020-12',
    ],
    [
      'a tool that refers elsewhere',
      (s) =>
        s.tool(
          'a',
          { description, inputSchema: { type: 'object', properties: { b: { $ref: 'https://e.com/b' } } } },
          text,
        ),
      'The inputSchema of tool "a" refers to https://e.com/b, which is not in it: put that schema under $defs and refer to it there',
    ],
    [
      'a tool with a wrong header',
      (s) =>
        s.tool(
          'a',
          {
            description,
            inputSchema: { type: 'object', properties: { b: { type: 'string', 'x-mcp-header': 'B b' } } },
          },
          text,
        ),
      'Invalid inputSchema of tool "a": x-mcp-header on b must be a header name of letters, digits and dashes',
    ],
    [
      'a tool with a header twice',
      (s) =>
        s.tool(
          'a',
          {
            description,
            inputSchema: {
              type: 'object',
              properties: { b: { type: 'string', 'x-mcp-header': 'B' }, c: { type: 'string', 'x-mcp-header': 'b' } },
            },
          },
          text,
        ),
      'Invalid inputSchema of tool "a": x-mcp-header "b" is used twice: names ignore case',
    ],

    // Resources.
    [
      'a resource without a scheme',
      (s) => s.resource('notes', { description }, text),
      'The resource "notes" needs a URI with a scheme, such as "note://notes"',
    ],
    [
      'a resource whose scheme is a variable',
      (s) => s.resource('{scheme}://a', { description }, text),
      'The resource "{scheme}://a" needs a URI with a scheme, such as "note://{scheme}://a"',
    ],
    [
      'a resource without a handler',
      (s) => s.resource('a:b', { description }),
      'The resource "a:b" needs a handler as its third argument',
    ],
    [
      'a resource that lists itself',
      (s) => s.resource('a:b', { description, list: () => [] }, text),
      'The resource "a:b" has no variables: remove list, or write a URI template',
    ],
    [
      'a resource that completes an unknown variable',
      (s) => s.resource('a:{b}', { description, complete: { c: () => [] } }, text),
      'The resource "a:{b}" completes "c", which is not one of its variables',
    ],
    [
      'a fixed resource that completes',
      (s) => s.resource('a:b', { description, complete: { c: () => [] } }, text),
      'The resource "a:b" completes "c", which is not one of its variables',
    ],
    [
      'an invalid template',
      (s) => s.resource('a:{b', { description }, text),
      'Invalid URI template "a:{b": write variables as {name}',
    ],

    // Prompts.
    ['a prompt without a name', (s) => s.prompt('', { description }, text), 'A prompt needs a name'],
    [
      'a prompt without a handler',
      (s) => s.prompt('a', { description }),
      'The prompt "a" needs a handler as its third argument',
    ],
    [
      'a prompt with a string as arguments',
      (s) => s.prompt('a', { description, argsSchema: z.string() }, text),
      'The argsSchema of prompt "a" must be an object schema',
    ],
    [
      'a prompt with a number as argument',
      (s) => s.prompt('a', { description, argsSchema: z.object({ b: z.number() }) }, text),
      'The argument "b" of prompt "a" must be a string: clients send only strings',
    ],
    [
      'a prompt with a list as argument',
      (s) => s.prompt('a', { description, argsSchema: z.object({ b: z.array(z.string()) }) }, text),
      'The argument "b" of prompt "a" must be a string: clients send only strings',
    ],
    [
      'a prompt that completes an unknown argument',
      (s) => s.prompt('a', { description, argsSchema: z.object({ b: z.string() }), complete: { c: () => [] } }, text),
      'The prompt "a" completes "c", which is not one of its arguments',
    ],
    [
      'a prompt without arguments that completes',
      (s) => s.prompt('a', { description, complete: { c: () => [] } }, text),
      'The prompt "a" completes "c", which is not one of its arguments',
    ],
    [
      'a prompt with a bare valibot schema',
      (s) => s.prompt('a', { description, argsSchema: v.object({}) }, text),
      'The argsSchema of prompt "a" cannot be converted to JSON Schema: use zod 4.2 or newer, arktype, or toStandardJsonSchema() of @valibot/to-json-schema',
    ],
  ])('%s', (_, declare, message) => {
    const server = newServer()
    expect(() => declare(loose(server))).toThrow(new Error(message))
    const { tools, resources, templates, prompts } = server.declarations
    expect(tools.size + resources.size + templates.size + prompts.size).toBe(0)
  })

  test.each<[string, unknown, string]>([
    ['no name', { version: '1' }, '"name" of createServer() must be a non-empty string, not undefined'],
    ['an empty name', { name: '', version: '1' }, '"name" of createServer() must be a non-empty string, not ""'],
    ['no version', { name: 'a' }, '"version" of createServer() must be a non-empty string, not undefined'],
    [
      'a version that is a number',
      { name: 'a', version: 1 },
      '"version" of createServer() must be a non-empty string, not 1',
    ],
  ])('a server with %s', (_, options, message) => {
    expect(() => createServer(options as never)).toThrow(new Error(message))
  })

  test.each([[0], [-1], [1.5], [Number.NaN], ['10'], [null]])('lists with pages of %j entries', (pageSize) => {
    const shown = typeof pageSize === 'string' ? `"${pageSize}"` : pageSize
    expect(() => createServer({ name: 'a', version: '1', pageSize: pageSize as number })).toThrow(
      new Error(`"pageSize" of createServer() must be a whole number of 1 or more, not ${shown}`),
    )
  })

  test.each<[unknown, unknown, string, string]>([
    [-1, 'public', 'ttlMs', 'whole milliseconds, 0 or more, not -1'],
    [1.5, 'public', 'ttlMs', 'whole milliseconds, 0 or more, not 1.5'],
    [Number.NaN, 'private', 'ttlMs', 'whole milliseconds, 0 or more, not NaN'],
    ['10', 'private', 'ttlMs', 'whole milliseconds, 0 or more, not "10"'],
    [undefined, 'private', 'ttlMs', 'whole milliseconds, 0 or more, not undefined'],
    [1, 'everyone', 'cacheScope', "'public' or 'private', not \"everyone\""],
    [1, undefined, 'cacheScope', "'public' or 'private', not undefined"],
  ])('invalid cache hints: ttlMs %j, cacheScope %j', (ttlMs, cacheScope, member, message) => {
    const caching = { ttlMs, cacheScope } as Caching
    expect(() => createServer({ name: 'a', version: '1', caching })).toThrow(
      new Error(`"caching.${member}" of createServer() must be ${message}`),
    )
    expect(() => newServer().resource('a:b', { description, caching }, text)).toThrow(
      new Error(`"caching.${member}" of resource "a:b" must be ${message}`),
    )
  })

  test('valid cache hints are accepted', () => {
    for (const cacheScope of ['public', 'private'] as const) {
      expect(() => createServer({ name: 'a', version: '1', caching: { ttlMs: 0, cacheScope } })).not.toThrow()
    }
  })

  test.each([undefined, null, 'text', 5, () => z.object({})])(
    'a value that is not a schema is an error: %j',
    (schema) => {
      const server = createServer({ name: 'test', version: '1' })
      expect(() => server.defineForm(schema as never)).toThrow(
        new Error('The schema of the form must be a Standard Schema or a JSON Schema object'),
      )
    },
  )

  test('two entries with one name', () => {
    const server = newServer()
    server.tool('a', { description }, text)
    server.prompt('a', { description }, text)
    const again = 'is registered twice: rename one, or use its module with a prefix'
    expect(() => server.tool('a', { description }, text)).toThrow(`The tool "a" ${again}`)
    expect(() => server.prompt('a', { description }, text)).toThrow(`The prompt "a" ${again}`)
  })

  test('two resources with one URI, for which a prefix is no fix', () => {
    const server = newServer()
    server.resource('a:b', { description }, text)
    server.resource('a:{b}', { description }, text)
    for (const uri of ['a:b', 'a:{b}']) {
      expect(() => server.resource(uri, { description }, text)).toThrow(
        new Error(`The resource "${uri}" is registered twice: change the URI of one`),
      )
    }
  })

  test('a change before the server is served', async () => {
    const server = newServer()
    const note = server.resource('note://{id}', { description }, text)
    const message =
      'Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()'
    for (const change of [
      server.notify.toolsChanged(),
      server.notify.promptsChanged(),
      server.notify.resourcesChanged(),
      server.notify.resourceUpdated('a:b'),
      note.updated({ id: '1' }),
    ]) {
      await expect(change).rejects.toThrow(message)
    }
  })
})

describe('a declaration is listed', () => {
  test('as a tool, in the member order of the specification, without absent members', () => {
    const server = newServer()
    server.tool('a', { description, inputSchema: { type: 'object', properties: {} }, title: 'A' }, text)
    const item = server.declarations.tools.get('a')?.item
    expect(Object.entries(item ?? {})).toEqual([
      ['name', 'a'],
      ['title', 'A'],
      ['description', 'd'],
      ['inputSchema', { type: 'object', properties: {} }],
    ])
  })

  test('as a tool without input', () => {
    const server = newServer()
    server.tool('a', { description }, text)
    expect(server.declarations.tools.get('a')?.item.inputSchema).toEqual({
      type: 'object',
      additionalProperties: false,
    })
  })

  test('as a tool with all members', () => {
    const server = newServer()
    const annotations = { title: 'A', readOnlyHint: true }
    const icons = [{ src: 'https://e.com/a.png' }]
    server.tool(
      'a',
      { description, outputSchema: { type: 'array' }, annotations, icons, _meta: { a: 1 } },
      text as never,
    )
    expect(server.declarations.tools.get('a')?.item).toMatchObject({
      outputSchema: { type: 'array' },
      annotations,
      icons,
      _meta: { a: 1 },
    })
  })

  test('as a tool with input and output schemas', () => {
    const server = newServer()
    const schema = z.object({ unit: z.string().default('m') })
    server.tool('a', { description, inputSchema: schema, outputSchema: schema }, () => ({}))
    const { inputSchema, outputSchema } = server.declarations.tools.get('a')?.item ?? {}
    expect([inputSchema?.required, outputSchema?.required]).toEqual([undefined, ['unit']])
  })

  test('as a copy that later changes do not affect', () => {
    const server = newServer()
    const input = { type: 'object', properties: { a: { type: 'string' } } }
    server.tool('a', { description, inputSchema: input }, text)
    input.properties.a.type = 'number'
    expect(server.declarations.tools.get('a')?.item.inputSchema).toMatchObject({
      properties: { a: { type: 'string' } },
    })
  })

  test('with the mirrored parameters of a tool', () => {
    const server = newServer()
    const input = { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'A' } } }
    server.tool('a', { description, inputSchema: input }, text)
    expect(server.declarations.tools.get('a')?.mirrored).toEqual([{ header: 'A', path: ['a'], type: 'string' }])
  })

  test('as a fixed resource with its URI, or a template with its template', () => {
    const server = newServer()
    server.resource('a:b', { description, size: 5 }, text)
    server.resource('a:{b}', { name: 'named', description, size: 5 }, text)
    expect(server.declarations.resources.get('a:b')?.item).toEqual({
      uri: 'a:b',
      name: 'a:b',
      description: 'd',
      size: 5,
    })
    expect(server.declarations.templates.get('a:{b}')?.item).toEqual({
      uriTemplate: 'a:{b}',
      name: 'named',
      description: 'd',
    })
  })

  test('as a prompt with its arguments', () => {
    const server = newServer()
    const args = z.object({
      a: z.string().meta({ title: 'A', description: 'first' }),
      b: z.string().optional(),
      c: z.enum(['x', 'y']),
    })
    server.prompt('p', { description, argsSchema: args }, text)
    expect(server.declarations.prompts.get('p')?.item).toEqual({
      name: 'p',
      description: 'd',
      arguments: [
        { name: 'a', title: 'A', description: 'first', required: true },
        { name: 'b', required: false },
        { name: 'c', required: true },
      ],
    })
  })

  test('as a prompt with completion for one of several arguments', () => {
    const server = newServer()
    const args = z.object({ a: z.string(), b: z.string() })
    server.prompt('p', { description, argsSchema: args, complete: { b: () => ['x'] } }, text)
    expect(Object.keys(server.declarations.prompts.get('p')?.complete ?? {})).toEqual(['b'])
  })

  test('as a prompt without arguments', () => {
    const server = newServer()
    server.prompt('p', { description }, text)
    expect(server.declarations.prompts.get('p')?.item).toEqual({ name: 'p', description: 'd' })
  })

  test('as a resource, a template or a prompt without a description', () => {
    const server = newServer()
    server.resource('a:b', {}, text)
    server.resource('a:{b}', {}, text)
    server.prompt('p', {}, text)
    const { resources, templates, prompts } = server.declarations
    expect([resources.get('a:b')?.item, templates.get('a:{b}')?.item, prompts.get('p')?.item]).toEqual([
      { uri: 'a:b', name: 'a:b' },
      { uriTemplate: 'a:{b}', name: 'a:{b}' },
      { name: 'p' },
    ])
  })

  test('in the order of declaration', () => {
    const server = newServer()
    for (const name of ['z', 'a', '10', '9']) server.tool(name, { description }, text)
    expect([...server.declarations.tools.keys()]).toEqual(['z', 'a', '10', '9'])
  })
})

describe('the handle of a resource', () => {
  test('builds URIs', () => {
    const server = newServer()
    const fixed = server.resource('a:b', { description }, text)
    const note = server.resource('note://{id}{?tag*}', { description }, text)
    expect(fixed.uri()).toBe('a:b')
    expect(note.uri({ id: 'a b' })).toBe('note://a%20b')
    expect(note.uri({ id: '1', tag: ['x', 'y'] })).toBe('note://1?tag=x&tag=y')
  })

  test('publishes changes', async () => {
    const server = newServer()
    const heard: unknown[] = []
    deliverChanges(server, { publish: async (change) => void heard.push(change) })
    await server.resource('a:b', { description }, text).updated()
    await server.resource('note://{id}', { description }, text).updated({ id: '1' })
    await server.notify.resourceUpdated('c:d')
    await server.notify.toolsChanged()
    await server.notify.promptsChanged()
    await server.notify.resourcesChanged()
    expect(heard).toEqual([
      { resource: 'a:b' },
      { resource: 'note://1' },
      { resource: 'c:d' },
      { list: 'tools' },
      { list: 'prompts' },
      { list: 'resources' },
    ])
  })
})

describe('modules', () => {
  const module = (server: Server) => {
    server.tool('add', { description }, text)
    server.prompt('ask', { description }, text)
    server.resource('note://{id}', { description }, text)
  }

  test('register entries on their server', () => {
    const server = newServer()
    expect(server.use(module)).toBe(server)
    expect(server.declarations.tools.has('add')).toBe(true)
  })

  test('add their prefix to names of tools and prompts, and not to URIs', () => {
    const { declarations } = newServer().use(module, { prefix: 'notes.' })
    expect([...declarations.tools.keys(), ...declarations.prompts.keys(), ...declarations.templates.keys()]).toEqual([
      'notes.add',
      'notes.ask',
      'note://{id}',
    ])
    expect(declarations.tools.get('notes.add')?.item.name).toBe('notes.add')
    expect(declarations.prompts.get('notes.ask')?.item.name).toBe('notes.ask')
  })

  test('inside modules get both prefixes', () => {
    const inner = (server: Server) => void server.tool('deep', { description }, text)
    const outer = (server: Server) =>
      void server.use(inner, { prefix: 'b_' }).use(inner).tool('own', { description }, text)
    expect([...newServer().use(outer, { prefix: 'a_' }).declarations.tools.keys()]).toEqual([
      'a_b_deep',
      'a_deep',
      'a_own',
    ])
  })

  test('do not affect entries that are registered after them', () => {
    const server = newServer().use(() => {}, { prefix: 'a_' })
    server.tool('own', { description }, text)
    expect([...server.declarations.tools.keys()]).toEqual(['own'])
  })

  test('can be used twice with two prefixes, and not with one', () => {
    const tools = (server: Server) => void server.tool('add', { description }, text)
    const server = newServer().use(tools, { prefix: 'a_' }).use(tools, { prefix: 'b_' })
    expect([...server.declarations.tools.keys()]).toEqual(['a_add', 'b_add'])
    expect(() => server.use(tools, { prefix: 'a_' })).toThrow('The tool "a_add" is registered twice')
  })

  test('have their prefixed names validated', () => {
    const tools = (server: Server) => void server.tool('add', { description }, text)
    expect(() => newServer().use(tools, { prefix: 'a b ' })).toThrow('The tool name "a b add" must be')
  })

  test.each(['production', 'development'])(
    'get an error that names the fix when a schema is an object of schemas: in %s',
    async (mode) => {
      vi.stubEnv('NODE_ENV', mode)
      vi.resetModules()
      const { createServer } = await import('../../worker/declarations/server.ts')
      const server = createServer({ name: 'test', version: '1' })
      expect(() => server.tool('t', { description, inputSchema: { a: z.string() } }, text)).toThrow(
        'The inputSchema of tool "t" is an object of schemas: wrap it, as in z.object({ a: … })',
      )
    },
  )

  test('can have a second parameter with a default', () => {
    const notes = (server: Server, { name = 'add' }: { name?: string } = {}) =>
      void server.tool(name, { description }, text)
    const optional = (server: Server, name?: string) => void server.tool(name ?? 'find', { description }, text)
    const server = newServer().use(notes).use(optional)
    expect([...server.declarations.tools.keys()]).toEqual(['add', 'find'])
  })

  test('must be synchronous, so middleware and async modules are refused', () => {
    const problem = /^The module passed to server\.use\(\) returned a promise: .+ server\.intercept\(fn\)/
    const middleware = async (_: unknown, next: () => unknown) => next()
    expect(() => newServer().use(middleware as never)).toThrow(problem)
    expect(() => newServer().use(async () => {})).toThrow(problem)
  })

  test('can publish changes', async () => {
    const server = newServer()
    const heard: unknown[] = []
    let changed: (() => Promise<void>) | undefined
    server.use(
      (inner) => {
        changed = inner.notify.toolsChanged
      },
      { prefix: 'a_' },
    )
    deliverChanges(server, { publish: async (change) => void heard.push(change) })
    await changed?.()
    expect(heard).toEqual([{ list: 'tools' }])
  })
})

describe('a resource whose URI no client could read', () => {
  const declare = (uri: string) => newServer().resource(uri, { description: 'd' }, () => 'text')

  test.each<[declared: string, read: string, parsed: string]>([
    ['a:/x/../y', 'a:/x/../y', 'a:/y'],
    ['a://x/./y', 'a://x/./y', 'a://x/y'],
    ['a:/x/%2E%2e/y', 'a:/x/%2E%2e/y', 'a:/y'],
    ['Note://1', 'Note://1', 'note://1'],
    ['https://example.com', 'https://example.com', 'https://example.com/'],
    ['https://Example.com/a', 'https://Example.com/a', 'https://example.com/a'],
    ['https://example.com:443/a', 'https://example.com:443/a', 'https://example.com/a'],
    ['file:/a', 'file:/a', 'file:///a'],
    ['file:///a\\b', 'file:///a\\b', 'file:///a/b'],
    ['a:/x/../{id}', 'a:/x/../x', 'a:/x'],
    ['https://{host}', 'https://x', 'https://x/'],
    ['HTTPS://example.com/{id}{?q}', 'HTTPS://example.com/x?q=x', 'https://example.com/x?q=x'],
  ])('%s is refused, with the URI that clients read', (declared, read, parsed) => {
    expect(() => declare(declared)).toThrow(
      `URL parsers read "${parsed}" for "${read}" of the resource "${declared}": write it as they do`,
    )
  })

  test.each([
    ['a:x/../y', 'must not contain ".." segments'],
    ['a://x?y=../z', 'must not contain ".." segments'],
    ['a:{id}/../y', 'must not contain ".." segments'],
    ['a:b\u0007c', 'must not contain control characters: percent-encode them'],
  ])('%j is refused', (declared, problem) => {
    expect(() => declare(declared)).toThrow(`The URI of the resource "${declared}" ${problem}`)
  })

  test.each([
    'note://1',
    'note://Host/Path',
    'note://a b',
    'note://%31/é',
    'urn:isbn:0451450523',
    'ui://widget/index.html',
    'https://example.com/a|b?q=1#f',
    'file:///a/b.txt',
    'a:x y',
    'a://x//y',
    'note://{id}',
    'a:{x}',
    'file:///{+path}',
    'https://example.com/{+path}{?q,r*}',
    'log://{id}{?from,to}',
    'shirt://{size}{/name*}{#part}',
    'x:{+id}',
  ])('%s is accepted', (uri) => {
    expect(() => declare(uri)).not.toThrow()
  })
})

describe('a plain JSON Schema that JSON would change', () => {
  const schemaWith = (value: unknown) => ({ type: 'object', properties: { a: { default: value } } })
  const noJson = 'which has no JSON form'

  test.each<[schema: unknown, problem: string]>([
    [schemaWith(5n), `has a bigint at properties.a.default, ${noJson}`],
    [schemaWith(Number.NaN), `has NaN at properties.a.default, ${noJson}`],
    [schemaWith([undefined]), `has undefined at properties.a.default[0], ${noJson}`],
    [schemaWith(new Map()), `has a value of the class Map at properties.a.default, ${noJson}`],
    [Promise.resolve({ type: 'object' }), `has a promise that is not awaited, ${noJson}`],
    [new Map(), `has a value of the class Map, ${noJson}`],
    [new Date(Number.NaN), `has an invalid date, ${noJson}`],
  ])('%o is refused', (schema, problem) => {
    const wrong = schema as { type: 'object' }
    const of = (owner: string) => `The ${owner} ${problem}`
    const server = newServer()
    expect(() => server.tool('t', { description: 'd', inputSchema: wrong }, text)).toThrow(
      of('inputSchema of tool "t"'),
    )
    expect(() => server.tool('t', { description: 'd', outputSchema: wrong }, (() => 5) as never)).toThrow(
      of('outputSchema of tool "t"'),
    )
    expect(() => server.prompt('p', { description: 'd', argsSchema: wrong }, text)).toThrow(
      of('argsSchema of prompt "p"'),
    )
    expect(() => server.defineForm(wrong)).toThrow(of('schema of the form'))
  })
})

test.each([Symbol('1'), [Symbol('1')], Object.create(null), 5, null])(
  'the variable %o of a URI template is refused',
  (id) => {
    const note = newServer().resource('note://{id}', { description: 'd' }, text)
    expect(() => note.uri({ id: id as string })).toThrow(
      /^The variable "id" of a URI template must be a string or a list of strings, not (?:null|symbol|object|number)$/,
    )
  },
)
