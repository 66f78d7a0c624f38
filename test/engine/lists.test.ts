import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Caller } from '../../worker/declarations/caller.ts'
import type { Server } from '../../worker/declarations/server.ts'
import { McpError } from '../../worker/protocol/errors.ts'
import type { Principal } from '../../worker/protocol/principal.ts'
import type { Result } from '../../worker/protocol/types.ts'
import { deliverChanges } from '../support/changes.ts'
import { memorySeals, newServer, refusal, result, type Setting, textOf } from './stage.ts'

const description = 'd'
const ada: Principal = { issuer: 'i', subject: 'ada', scopes: [], claims: {} }
const isAda = ({ principal }: Caller) => principal?.subject === 'ada'

type Kind = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'
const methods: Record<Kind, string> = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
}
const kinds = Object.keys(methods) as Kind[]

function add(server: Server, kind: Kind, name: string, visibleTo?: (caller: Caller) => boolean | Promise<boolean>) {
  if (kind === 'tools') server.tool(name, { description, visibleTo }, () => name)
  if (kind === 'prompts') server.prompt(name, { description, visibleTo }, () => name)
  if (kind === 'resources') server.resource(`a:${name}`, { name, description, visibleTo }, () => name)
  if (kind === 'resourceTemplates') server.resource(`a:${name}/{x}`, { name, description, visibleTo }, () => name)
}

const names = (list: Result, kind: Kind) => (list[kind] as { name: string }[]).map(({ name }) => name)

describe.each(kinds)('the list of %s', (kind) => {
  const method = methods[kind]
  const serverWith = (count: number, pageSize?: number) => {
    const server = newServer({ pageSize })
    for (let number = 1; number <= count; number++) add(server, kind, `n${number}`)
    return server
  }
  const page = async (server: Server, cursor: unknown, seals = memorySeals()) => {
    const list = await result(server, method, cursor === undefined ? {} : { cursor }, { seals })
    return { names: names(list, kind), next: list.nextCursor }
  }

  test('has all entries in the order of declaration', async () => {
    const server = newServer()
    for (const name of ['z', 'a', 'm']) add(server, kind, name)
    const list = await result(server, method)
    expect(names(list, kind)).toEqual(['z', 'a', 'm'])
    expect(list).not.toHaveProperty('nextCursor')
  })

  test('is split into pages', async () => {
    const server = serverWith(5, 2)
    const seals = memorySeals()
    const one = await page(server, undefined, seals)
    const two = await page(server, one.next, seals)
    const three = await page(server, two.next, seals)
    expect([one.names, two.names, three.names]).toEqual([['n1', 'n2'], ['n3', 'n4'], ['n5']])
    expect(three.next).toBeUndefined()
  })

  test('does not end with an empty page', async () => {
    const server = serverWith(4, 2)
    const seals = memorySeals()
    const { next } = await page(server, undefined, seals)
    expect((await page(server, next, seals)).next).toBeUndefined()
  })

  test('has a thousand entries per page', async () => {
    const first = await page(serverWith(1001), undefined)
    expect([first.names.length, typeof first.next]).toEqual([1000, 'string'])
  })

  test.each([[''], ['made up'], [5], [null], [{}], [[]]])('refuses the cursor %j', async (cursor) => {
    const { kind, message } = await refusal(serverWith(3, 2), method, { cursor })
    expect([kind, message]).toEqual(['invalid_params', 'Invalid cursor: list again from the first page'])
  })

  test('refuses a cursor of another list', async () => {
    const server = serverWith(3, 2)
    const seals = memorySeals()
    const other = kinds.find((other) => other !== kind) as Kind
    for (const name of ['a', 'b', 'c']) add(server, other, name)
    const { nextCursor } = await result(server, methods[other], {}, { seals })
    expect(nextCursor).toEqual(expect.any(String))
    expect((await refusal(server, method, { cursor: nextCursor }, { seals })).kind).toBe('invalid_params')
  })

  test('continues after entries were added before the cursor', async () => {
    const seals = memorySeals()
    const { next } = await page(serverWith(4, 2), undefined, seals)
    const grown = newServer({ pageSize: 2 })
    for (const name of ['new', 'n1', 'n2', 'n3', 'n4']) add(grown, kind, name)
    expect((await page(grown, next, seals)).names).toEqual(['n3', 'n4'])
  })

  test('continues after entries before the cursor were removed', async () => {
    const seals = memorySeals()
    const { next } = await page(serverWith(4, 2), undefined, seals)
    const shrunk = newServer({ pageSize: 2 })
    for (const name of ['n2', 'n3', 'n4']) add(shrunk, kind, name)
    expect((await page(shrunk, next, seals)).names).toEqual(['n3', 'n4'])
  })

  test('continues after the last entry of a page was removed', async () => {
    const seals = memorySeals()
    const { next } = await page(serverWith(4, 2), undefined, seals)
    const shrunk = newServer({ pageSize: 2 })
    for (const name of ['n1', 'n3', 'n4']) add(shrunk, kind, name)
    expect((await page(shrunk, next, seals)).names).toEqual(['n3', 'n4'])
  })

  test('ends when the entries after the cursor were removed', async () => {
    const seals = memorySeals()
    const { next } = await page(serverWith(4, 2), undefined, seals)
    const shrunk = newServer({ pageSize: 2 })
    add(shrunk, kind, 'n1')
    const last = await page(shrunk, next, seals)
    expect(last.next).toBeUndefined()
  })

  test('has the entries that are visible to the caller', async () => {
    const server = newServer()
    add(server, kind, 'open')
    add(server, kind, 'closed', () => false)
    add(server, kind, 'hers', isAda)
    add(server, kind, 'slow', async (caller) => isAda(caller))
    expect(names(await result(server, method), kind)).toEqual(['open'])
    expect(names(await result(server, method, {}, { principal: ada }), kind)).toEqual(['open', 'hers', 'slow'])
  })

  test('omits entries whose visibleTo returns a value that is not true', async () => {
    const server = newServer()
    add(server, kind, 'vague', () => 'yes' as never)
    expect(names(await result(server, method), kind)).toEqual([])
  })

  test('omits entries whose visibleTo throws, reports it, and is not kept by clients', async () => {
    const server = newServer({ caching: { ttlMs: 5000, cacheScope: 'public' } })
    add(server, kind, 'open')
    add(server, kind, 'broken', () => {
      throw new Error('no database')
    })
    const reported: unknown[] = []
    const list = await result(server, method, {}, { report: (problem) => reported.push(problem) })
    expect(names(list, kind)).toEqual(['open'])
    expect(reported).toEqual([new Error('no database')])
    expect(list).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
  })

  test('fails when visibleTo refuses the request', async () => {
    const server = newServer()
    add(server, kind, 'open')
    add(server, kind, 'refusing', () => {
      throw new McpError('forbidden', 'Your account is closed')
    })
    expect(await refusal(server, method)).toMatchObject({ kind: 'forbidden', message: 'Your account is closed' })
  })

  test('has the cache hints of the server', async () => {
    const caching = { ttlMs: 5000, cacheScope: 'public' } as const
    const server = newServer({ caching })
    add(server, kind, 'open')
    expect(await result(server, method)).toMatchObject(caching)
  })

  test('has the ttlMs 0 and is private by default', async () => {
    const server = newServer()
    add(server, kind, 'open')
    expect(await result(server, method)).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
  })

  test('is private for every caller when it depends on the caller', async () => {
    const server = newServer({ caching: { ttlMs: 5000, cacheScope: 'public' } })
    add(server, kind, 'open')
    add(server, kind, 'hers', isAda)
    for (const principal of [undefined, ada]) {
      expect(await result(server, method, {}, { principal })).toMatchObject({ ttlMs: 5000, cacheScope: 'private' })
    }
  })

  test('has the same cacheScope on all pages', async () => {
    const server = newServer({ pageSize: 1, caching: { ttlMs: 5, cacheScope: 'public' } })
    const seals = memorySeals()
    add(server, kind, 'a')
    add(server, kind, 'b')
    const one = await result(server, method, {}, { seals })
    const two = await result(server, method, { cursor: one.nextCursor }, { seals })
    expect([one.cacheScope, two.cacheScope]).toEqual(['public', 'public'])
  })

  test('is an unknown method on a server without entries', async () => {
    const server = newServer()
    const { kind: error, message } = await refusal(server, method)
    expect([error, message]).toEqual(['method_not_found', `Method not found: ${method}`])
  })
})

describe('the list of resources', () => {
  const listing = (list: (caller: Caller) => object[], more: object = {}) => {
    const server = newServer({ caching: { ttlMs: 5, cacheScope: 'public' } })
    server.resource('a:fixed', { name: 'fixed', description }, () => 'fixed')
    server.resource(
      'note://{id}',
      {
        name: 'note',
        title: 'Note',
        description,
        mimeType: 'text/plain',
        list: list as () => { id: string }[],
        ...more,
      },
      () => 'note',
    )
    return server
  }

  test('has the entries that templates list, with defaults from their template', async () => {
    const server = listing(() => [
      { id: 'a b' },
      { id: '2', name: 'two', title: 'Two', description: 'second', mimeType: 'a/b', size: 5, _meta: { x: 1 } },
    ])
    expect((await result(server, 'resources/list')).resources).toEqual([
      { uri: 'a:fixed', name: 'fixed', description },
      { uri: 'note://a%20b', name: 'note://a%20b', title: 'Note', description, mimeType: 'text/plain' },
      {
        uri: 'note://2',
        name: 'two',
        title: 'Two',
        description: 'second',
        mimeType: 'a/b',
        size: 5,
        _meta: { x: 1 },
      },
    ])
  })

  /** Returns the messages that are reported for a template whose `list` returns a value, and throws if it is listed. */
  async function broken(listed: unknown): Promise<string[]> {
    const reported: string[] = []
    const report = (problem: unknown) => reported.push(String((problem as Error).message))
    const list = await result(
      listing(() => listed as object[]),
      'resources/list',
      {},
      { report },
    )
    expect(names(list, 'resources')).toEqual(['fixed'])
    return reported
  }

  test('has defaults for members that are null, as rows of D1 have them', async () => {
    const none = { name: null, title: null, description: null, mimeType: null, size: null, icons: null, _meta: null }
    const server = listing(() => [
      { id: '1', ...none, annotations: null },
      { id: '2', annotations: { priority: null } },
    ])
    const note = { title: 'Note', description, mimeType: 'text/plain' }
    expect((await result(server, 'resources/list')).resources).toStrictEqual([
      { uri: 'a:fixed', name: 'fixed', description },
      { uri: 'note://1', name: 'note://1', ...note },
      { uri: 'note://2', name: 'note://2', ...note, annotations: {} },
    ])
  })

  test.each<[member: string, expected: string, value: unknown]>([
    ['title', 'a string, not 5', 5],
    ['size', 'a whole number of 0 or more, not "5"', '5'],
    ['annotations', 'an object, not "high"', 'high'],
    ['_meta', 'an object, not "x"', 'x'],
  ])('omits the template, and reports the entry, when its "%s" is invalid', async (member, expected, value) => {
    expect(await broken([{ id: '1' }, { id: '2', [member]: value }])).toEqual([
      `"${member}" of the entry "note://2" of the resource "note://{id}" must be ${expected}`,
    ])
  })

  test('leaves out variables that are named like a member and are no value of it', async () => {
    const server = newServer()
    const list = () => [{ size: 'large', name: ['a', 'b'] }]
    server.resource('shirt://{size}{/name*}', { description, list: list as () => never[] }, () => '')
    expect((await result(server, 'resources/list')).resources).toEqual([
      { uri: 'shirt://large/a/b', name: 'shirt://large/a/b', description },
    ])
  })

  test.each<[what: string, listed: unknown, found: string]>([
    ['the result of an SDK', { resources: [] }, 'an object with the members resources'],
    ['a text', 'a', 'a string'],
    ['a list of texts', [{ id: '1' }, '2'], 'a list with a string'],
    ['a list with null', [null], 'a list with null'],
  ])('omits the template, and reports it, when its `list` returns %s', async (_, listed, found) => {
    expect(await broken(listed)).toEqual([
      `"list" of the resource "note://{id}" returned ${found}: return a list of objects with the variables of each URI`,
    ])
  })

  test('calls `list` of templates for the caller, so it is private', async () => {
    const server = listing((caller) => (isAda(caller) ? [{ id: 'hers' }] : []))
    const hers = await result(server, 'resources/list', {}, { principal: ada })
    const others = await result(server, 'resources/list')
    expect([names(hers, 'resources'), names(others, 'resources')]).toEqual([['fixed', 'note://hers'], ['fixed']])
    expect([hers.cacheScope, others.cacheScope]).toEqual(['private', 'private'])
  })

  test('is private also for callers who may not see the template with `list`', async () => {
    const server = listing(() => [{ id: '1' }], { visibleTo: isAda })
    const hers = await result(server, 'resources/list', {}, { principal: ada })
    const others = await result(server, 'resources/list')
    expect([names(hers, 'resources'), names(others, 'resources')]).toEqual([['fixed', 'note://1'], ['fixed']])
    expect([hers.cacheScope, others.cacheScope]).toEqual(['private', 'private'])
  })

  test('exists on a server with templates only, and the list of templates on one without templates', async () => {
    const templates = newServer()
    add(templates, 'resourceTemplates', 'a')
    expect((await result(templates, 'resources/list')).resources).toEqual([])
    const fixed = newServer()
    add(fixed, 'resources', 'a')
    expect((await result(fixed, 'resources/templates/list')).resourceTemplates).toEqual([])
  })
})

describe('hidden entries', () => {
  const server = newServer()
  for (const kind of kinds) {
    add(server, kind, 'open')
    add(server, kind, 'hers', isAda)
  }
  server.prompt(
    'completes',
    { description, visibleTo: isAda, argsSchema: z.object({ x: z.string() }), complete: { x: () => ['hers'] } },
    () => '',
  )
  server.resource('c:{x}', { description, visibleTo: isAda, complete: { x: () => ['hers'] } }, () => '')
  const complete = (ref: object) => ({ ref, argument: { name: 'x', value: '' } })

  test.each<[string, string, object]>([
    ['tools/call', 'hers', { name: 'hers' }],
    ['prompts/get', 'hers', { name: 'hers' }],
    ['resources/read', 'a:hers', { uri: 'a:hers' }],
    ['resources/read', 'a:hers/1', { uri: 'a:hers/1' }],
    ['completion/complete', 'completes', complete({ type: 'ref/prompt', name: 'completes' })],
    ['completion/complete', 'c:{x}', complete({ type: 'ref/resource', uri: 'c:{x}' })],
    ['completion/complete', 'c:1', complete({ type: 'ref/resource', uri: 'c:1' })],
  ])('cause the same error as unknown entries: %s of %s', async (method, name, params) => {
    const hidden = await refusal(server, method, params as Record<string, unknown>)
    const text = JSON.stringify(params).replaceAll(name, `${name}-none`.replace('{x}-none', '{none}'))
    const missing = await refusal(server, method, JSON.parse(text))
    expect(hidden.kind).toBe(missing.kind)
    expect(hidden.message).toBe(missing.message.replace('-none', '').replace('{none}', '{x}'))
  })

  test.each<[string, object]>([
    ['tools/call', { name: 'hers' }],
    ['prompts/get', { name: 'hers' }],
    ['resources/read', { uri: 'a:hers' }],
    ['resources/read', { uri: 'a:hers/1' }],
    ['completion/complete', complete({ type: 'ref/prompt', name: 'completes' })],
    ['completion/complete', complete({ type: 'ref/resource', uri: 'c:{x}' })],
  ])('are available to callers who may see them: %s %j', async (method, params) => {
    expect(await result(server, method, params as Record<string, unknown>, { principal: ada })).toBeDefined()
  })

  test('do not run', async () => {
    let runs = 0
    const closed = newServer().use(
      (server: Server) => void server.tool('t', { description, visibleTo: () => false }, () => String(++runs)),
    )
    await refusal(closed, 'tools/call', { name: 't' })
    expect(runs).toBe(0)
  })
})

describe('cache hints of a read resource', () => {
  const read = (definition: object, setting?: Setting) => {
    const server = newServer({ caching: { ttlMs: 7, cacheScope: 'public' } })
    server.resource('a:b', { description, ...definition }, () => 'text')
    return result(server, 'resources/read', { uri: 'a:b' }, setting)
  }

  test('are those of the resource, not those of lists', async () => {
    expect(await read({})).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    expect(await read({ caching: { ttlMs: 9, cacheScope: 'public' } })).toMatchObject({
      ttlMs: 9,
      cacheScope: 'public',
    })
  })

  test('are private when visibleTo restricts the resource', async () => {
    const definition = { caching: { ttlMs: 9, cacheScope: 'public' }, visibleTo: isAda }
    expect(await read(definition, { principal: ada })).toMatchObject({ ttlMs: 9, cacheScope: 'private' })
  })

  test('are omitted from results of tools and prompts', async () => {
    const server = newServer({ caching: { ttlMs: 7, cacheScope: 'public' } })
    add(server, 'tools', 't')
    add(server, 'prompts', 'p')
    for (const [method, name] of [
      ['tools/call', 't'],
      ['prompts/get', 'p'],
    ] as const) {
      const answer = await result(server, method, { name })
      expect(answer).not.toHaveProperty('ttlMs')
      expect(answer).not.toHaveProperty('cacheScope')
    }
    expect(textOf(await result(server, 'tools/call', { name: 't' }))).toBe('t')
  })
})

describe('an entry with enabled', () => {
  const names = async (server: Server, principal?: Principal) =>
    ((await result(server, 'tools/list', {}, principal ? { principal } : {})).tools as { name: string }[]).map(
      ({ name }) => name,
    )

  test('keeps its state and its place in the list until it is enabled or disabled', async () => {
    const server = newServer()
    for (const name of ['a', 'b', 'c']) {
      server.tool(name, { description, enabled: name !== 'b' }, () => name)
    }
    expect(await names(server)).toEqual(['a', 'c'])
    const overrides = { 'tools b': true, 'tools a': false, 'prompts c': false }
    deliverChanges(server, { enabledOverrides: async () => overrides })
    expect(await names(server)).toEqual(['b', 'c'])
    await expect(result(server, 'tools/call', { name: 'a' })).rejects.toMatchObject({ kind: 'invalid_params' })
    expect(textOf(await result(server, 'tools/call', { name: 'b' }))).toBe('b')
  })

  test('is visible only to callers for whom visibleTo returns true', async () => {
    const server = newServer()
    server.tool('hers', { description, enabled: true, visibleTo: ({ principal }) => principal === ada }, () => '')
    // Not a boolean, as a predicate without a return statement has it.
    server.tool('odd', { description, enabled: true, visibleTo: () => undefined as unknown as boolean }, () => '')
    expect(await names(server)).toEqual([])
    expect(await names(server, ada)).toEqual(['hers'])
  })

  test('requires subscriptions() and the option enabled to change', async () => {
    const server = newServer()
    const fixed = server.tool('fixed', { description }, () => '')
    await expect(fixed.disable()).rejects.toThrow(
      `The tool "fixed" cannot be enabled or disabled: declare it with enabled: true`,
    )
    const loose = server.prompt('loose', { description, enabled: true }, () => '')
    for (const turn of [loose.enable, loose.disable]) {
      await expect(turn()).rejects.toThrow('Change notifications are disabled')
    }
    const turned: unknown[] = []
    deliverChanges(server, {
      setEnabled: async (...[list, name, isEnabled]) => void turned.push([list, name, isEnabled]),
    })
    await loose.disable()
    await server.resource('note://{id}', { description, enabled: true }, () => '').enable()
    expect(turned).toEqual([
      ['prompts', 'loose', false],
      ['resources', 'note://{id}', true],
    ])
  })
})
