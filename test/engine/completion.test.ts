import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Caller } from '../../worker/declarations/caller.ts'
import type { Server } from '../../worker/declarations/server.ts'
import type { Params } from '../../worker/protocol/types.ts'
import { newServer, refusal, result } from './stage.ts'

const description = 'd'

describe('completion', () => {
  const server = newServer()
  const found = ['rust', 'ruby', 'typescript']
  const starting = (prefix: string) => found.filter((value) => value.startsWith(prefix))
  server.prompt(
    'review',
    {
      description,
      argsSchema: z.object({
        language: z.string(),
        code: z.string().optional(),
        many: z.string().optional(),
        full: z.string().optional(),
        cut: z.string().optional(),
        told: z.string().optional(),
      }),
      complete: {
        language: (prefix, known) => (known.code === undefined ? starting(prefix) : [known.code]),
        many: () => Array.from({ length: 150 }, (_, index) => String(index)),
        full: () => Array.from({ length: 100 }, (_, index) => String(index)),
        cut: () => ({ values: Array.from({ length: 150 }, (_, index) => String(index)), hasMore: false }),
        told: async () => ({ values: ['a'], total: 1000, hasMore: true }),
      },
    },
    () => '',
  )
  server.resource('note://{id}{?tag*}', { description, complete: { id: starting } }, () => '')
  server.resource('a:fixed', { description }, () => '')
  server.prompt('plain', { description }, () => '')

  const prompt = { type: 'ref/prompt', name: 'review' }
  const note = { type: 'ref/resource', uri: 'note://{id}{?tag*}' }
  const complete = async (ref: object, name: string, value: string, context?: object) =>
    (await result(server, 'completion/complete', { ref, argument: { name, value }, context })).completion

  test("of a prompt's argument", async () => {
    expect(await complete(prompt, 'language', 'ru')).toEqual({ values: ['rust', 'ruby'], total: 2, hasMore: false })
  })

  test.each<[what: string, found: unknown, description: string]>([
    ['nothing', undefined, 'undefined'],
    ['a text', 'rust', 'a string'],
    ['a list of numbers', [1], 'a list with a number'],
    ['the result of an SDK', { completion: { values: [] } }, 'an object with the members completion'],
    ['a text as its values', { values: 'rust' }, 'an object with the members values'],
    ['no number as its total', { values: [], total: Number.NaN }, 'an object with the members values, total'],
    ['a text as its total', { values: [], total: '2' }, 'an object with the members values, total'],
    ['a number for hasMore', { values: [], hasMore: 1 }, 'an object with the members values, hasMore'],
  ])('is an error that names the completer when it returns %s', async (_, found, description) => {
    const server = newServer()
    const complete = { language: () => found as string[] }
    server.prompt('review', { description, argsSchema: z.object({ language: z.string() }), complete }, () => '')
    const params = { ref: prompt, argument: { name: 'language', value: '' } }
    const { kind, message } = await refusal(server, 'completion/complete', params)
    expect([kind, message]).toEqual([
      'internal_error',
      `"complete.language" of the prompt "review" returned ${description}: return a list of strings, or { values, total, hasMore }`,
    ])
  })

  test('has defaults for a total and hasMore that are null', async () => {
    const server = newServer()
    const complete = { language: () => ({ values: ['rust'], total: null as never, hasMore: null as never }) }
    server.prompt('review', { description, argsSchema: z.object({ language: z.string() }), complete }, () => '')
    const params = { ref: prompt, argument: { name: 'language', value: '' } }
    expect((await result(server, 'completion/complete', params)).completion).toStrictEqual({
      values: ['rust'],
      total: 1,
      hasMore: false,
    })
  })

  test('receives the other arguments', async () => {
    expect(await complete(prompt, 'language', 'ru', { arguments: { code: 'known' } })).toMatchObject({
      values: ['known'],
    })
  })

  test("of a template's variable accepts the template or a URI of it", async () => {
    expect(await complete(note, 'id', 'ty')).toMatchObject({ values: ['typescript'] })
    expect(await complete({ type: 'ref/resource', uri: 'note://1' }, 'id', 'ty')).toMatchObject({
      values: ['typescript'],
    })
  })

  test('is empty without a completer', async () => {
    expect(await complete(prompt, 'code', 'x')).toEqual({ values: [], hasMore: false })
    expect(await complete(note, 'tag', 'x')).toEqual({ values: [], hasMore: false })
  })

  test('has at most a hundred values, and the total number', async () => {
    const completion = (await complete(prompt, 'many', '')) as { values: string[] }
    expect(completion.values).toHaveLength(100)
    expect(completion).toMatchObject({ total: 150, hasMore: true })
  })

  test('has hasMore: false when all values fit', async () => {
    expect(await complete(prompt, 'full', '')).toMatchObject({ total: 100, hasMore: false })
  })

  test('has hasMore: true when values are cut off, whatever the completer returns', async () => {
    expect(await complete(prompt, 'cut', '')).toMatchObject({ hasMore: true })
  })

  test('passes on total and hasMore of the completer', async () => {
    expect(await complete(prompt, 'told', '')).toEqual({ values: ['a'], total: 1000, hasMore: true })
  })

  const argument = { name: 'language', value: '' }
  test.each<[string, Params, string]>([
    ['nothing', {}, 'params.argument.name must be a string'],
    ['no value', { ref: prompt, argument: { name: 'language' } }, 'params.argument.value must be a string'],
    [
      'a value that is a number',
      { ref: prompt, argument: { name: 'language', value: 5 } },
      'params.argument.value must be a string',
    ],
    ['no ref', { argument }, 'params.ref.type must be "ref/prompt" or "ref/resource"'],
    ['another ref', { ref: { type: 'ref/tool' }, argument }, 'params.ref.type must be "ref/prompt" or "ref/resource"'],
    ['a ref that is a text', { ref: 'review', argument }, 'params.ref must be an object'],
    ['a prompt without a name', { ref: { type: 'ref/prompt' }, argument }, 'params.ref.name must be a string'],
    ['a resource without a URI', { ref: { type: 'ref/resource' }, argument }, 'params.ref.uri must be a string'],
    ['an unknown prompt', { ref: { type: 'ref/prompt', name: 'no' }, argument }, 'Unknown prompt: no'],
    [
      'an unknown template',
      { ref: { type: 'ref/resource', uri: 'no:{x}' }, argument },
      'Unknown resource template: no:{x}',
    ],
    [
      'an unknown argument',
      { ref: prompt, argument: { name: 'no', value: '' } },
      'The prompt "review" has no argument "no"',
    ],
    [
      'an argument every object has',
      { ref: prompt, argument: { name: 'constructor', value: '' } },
      'The prompt "review" has no argument "constructor"',
    ],
    [
      'an unknown variable',
      { ref: note, argument: { name: 'no', value: '' } },
      'The resource "note://{id}{?tag*}" has no argument "no"',
    ],
    [
      'a variable of a fixed resource',
      { ref: { type: 'ref/resource', uri: 'a:fixed' }, argument },
      'The resource "a:fixed" has no argument "language"',
    ],
    [
      'an argument of a prompt without arguments',
      { ref: { type: 'ref/prompt', name: 'plain' }, argument },
      'The prompt "plain" has no argument "language"',
    ],
    ['a context that is a list', { ref: prompt, argument, context: [] }, 'params.context must be an object'],
    [
      'a context with numbers',
      { ref: prompt, argument, context: { arguments: { code: 5 } } },
      'params.context.arguments.code must be a string',
    ],
  ])('with %s is refused', async (_, params, message) => {
    const { kind, message: said } = await refusal(server, 'completion/complete', params)
    expect([kind, said]).toEqual(['invalid_params', message])
  })

  test('is an unknown method on a server without completers', async () => {
    const silent = newServer().use(
      (server: Server) => void server.prompt('p', { description, argsSchema: z.object({ a: z.string() }) }, () => ''),
    )
    const ref = { type: 'ref/prompt', name: 'p' }
    const { kind } = await refusal(silent, 'completion/complete', { ref, argument: { name: 'a', value: '' } })
    expect(kind).toBe('method_not_found')
  })
})

describe("completion of a template's variables", () => {
  const server = newServer()
  const callers: Caller[] = []
  const secrets: Record<string, string[]> = { ada: ['divorce-papers', 'diary'], bob: ['diet'] }
  server.resource(
    'vault://{owner}/{id}',
    {
      description,
      authorize: ({ principal }, { owner }) => principal?.subject === owner,
      complete: {
        owner: (_, __, { principal }) => (principal ? [principal.subject] : []),
        id(prefix, { owner = '' }, caller) {
          callers.push(caller)
          return { values: (secrets[owner] ?? []).filter((id) => id.startsWith(prefix)), total: 7 }
        },
      },
    },
    () => '',
  )
  const ref = { type: 'ref/resource', uri: 'vault://{owner}/{id}' }
  const ada = { issuer: 'https://issuer.example', subject: 'ada', scopes: [], claims: {} }
  const complete = async (name: string, known: object, principal?: typeof ada) => {
    const params = { ref, argument: { name, value: '' }, context: { arguments: known } }
    return (await result(server, 'completion/complete', params, principal ? { principal } : {})).completion
  }

  test('gives the caller to the completer', async () => {
    expect(await complete('owner', {}, ada)).toMatchObject({ values: ['ada'] })
    expect(await complete('owner', {})).toMatchObject({ values: [] })
    await complete('id', {}, ada)
    expect(callers.map(({ principal }) => principal)).toEqual([ada])
  })

  test('omits values that the caller may not read, and their number', async () => {
    expect(await complete('id', { owner: 'ada' }, ada)).toEqual({ values: ['divorce-papers', 'diary'], hasMore: false })
    expect(await complete('id', { owner: 'bob' }, ada)).toEqual({ values: [], hasMore: false })
    expect(await complete('id', { owner: 'ada' })).toEqual({ values: [], hasMore: false })
  })

  test.each([
    ['vault://{owner}/{id}{?version,part}', {}],
    ['vault://{owner}/{id}{?version,part}', { version: '2' }],
    ['vault://{owner}/{id}{/part*}', {}],
  ])('omits values that the caller may not read without optional variables: %s, %j', async (uri, known) => {
    const optional = newServer()
    optional.resource(
      uri,
      {
        description,
        authorize: ({ principal }, { owner, id }: Record<string, unknown>) =>
          principal?.subject === owner && id !== 'diet',
        complete: { owner: () => ['ada', 'bob'], id: () => ['diary', 'diet'], part: () => ['a'] },
      },
      () => '',
    )
    const completionOf = async (name: string, others: object) => {
      const argument = { name, value: '' }
      const params = { ref: { type: 'ref/resource', uri }, argument, context: { arguments: { ...others, ...known } } }
      return (await result(optional, 'completion/complete', params, { principal: ada })).completion
    }
    expect(await completionOf('id', { owner: 'ada' })).toEqual({ values: ['diary'], hasMore: false })
    expect(await completionOf('owner', { id: 'diary' })).toEqual({ values: ['ada'], hasMore: false })
    expect(await completionOf('part', { owner: 'bob', id: 'diary' })).toEqual({ values: [], hasMore: false })
    // Without a variable of the path there is no URI to authorize.
    expect(await completionOf('part', { owner: 'bob' })).toMatchObject({ values: ['a'] })
  })
})
