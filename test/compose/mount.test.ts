import { describe, expect, test } from 'vitest'
import { draftOf } from '../../worker/declarations/declarations.ts'
import { createServer, type Module } from '../../worker/declarations/server.ts'
import { SelectedTools } from '../../worker/declarations/tool-selection.ts'
import { extension } from '../../worker/engine/extension.ts'
import { mount } from '../../worker/plugins/compose/mount.ts'
import { mountUpstreams } from '../../worker/plugins/compose/proxy/mount-upstreams.ts'
import { Proxied } from '../../worker/plugins/compose/proxy/proxied.ts'
import { Remote } from '../../worker/plugins/compose/proxy/remote.ts'
import { skills } from '../../worker/plugins/skills/skills.ts'
import { toggleKey } from '../../worker/protocol/changes.ts'
import { callerFor, play } from '../engine/stage.ts'
import { deliverChanges } from '../support/changes.ts'
import { once } from './node-proxy.ts'

/** As `proxy()` of an upstream that is not there. */
const proxy =
  (url: string): Module =>
  (server) => {
    const fetch = async () => new Response(null, { status: 404 })
    const options = {
      prefix: '',
      headers: () => ({}),
      timeoutMs: 1000,
      listTimeoutMs: 1000,
      listMaxAgeMs: 1000,
      sharedSessions: false,
      selected: new SelectedTools('proxy()', {}),
      scopes: undefined,
    }
    mountUpstreams(draftOf(server), [new Proxied(new Remote(url, { fetch, waitUntil: () => {} }, once), options)])
  }

const part = () => {
  const server = createServer({ name: 'part', version: '1.0.0' })
  server.tool('commit', { description: 'Commits' }, () => 'Committed')
  return server
}

test.each([
  ['git/', 'The tool name "git/commit" must be 1 to 128 letters, digits, "_", "." or "-"'],
  ['a'.repeat(123), /^The tool name "a{123}commit" must be/],
])('a prefix that makes tool names invalid is refused: %s', (prefix, problem) => {
  const server = createServer({ name: 'whole', version: '1.0.0' })
  expect(() => server.use(mount(part(), { prefix }))).toThrow(problem)
})

test('entries with the same name in both servers are refused', () => {
  const server = part()
  expect(() => server.use(mount(part()))).toThrow('Both servers declare "commit": mount one with a prefix')
  expect([...server.use(mount(part(), { prefix: 'git.' })).declarations.tools.keys()]).toEqual(['commit', 'git.commit'])
})

test('a prefix of use() precedes the names of mounted entries', () => {
  const server = createServer({ name: 'whole', version: '1.0.0' })
  server.use(mount(part(), { prefix: 'git_' }), { prefix: 'w_' })
  expect([...server.declarations.tools.keys()]).toEqual(['w_git_commit'])
})

describe('enable() and disable() in a mounted server', () => {
  const switchable = (name: string) => {
    const server = createServer({ name, version: '1.0.0' })
    const danger = server.tool('danger', { description: 'Dangerous', enabled: false }, () => name)
    const prompt = server.prompt('ask', { description: 'Asks', enabled: false }, () => name)
    const note = server.resource(`${name}://note`, { description: 'A note', enabled: false }, () => name)
    return { server, danger, prompt, note }
  }

  /** A server with two mounted parts and a tool of its own, all of one name, and how each is now. */
  function whole() {
    const server = createServer({ name: 'whole', version: '1.0.0' })
    const [alpha, beta] = [switchable('alpha'), switchable('beta')]
    server.use(mount(alpha.server, { prefix: 'alpha_' })).use(mount(beta.server, { prefix: 'beta_' }))
    const own = server.tool('danger', { description: 'Its own', enabled: false }, () => 'own')
    const turned: Record<string, boolean> = {}
    deliverChanges(server, {
      async setEnabled(list, name, isEnabled) {
        turned[toggleKey(list, name)] = isEnabled
      },
      enabledOverrides: async () => turned,
    })
    const { declarations } = server
    const enabled = async () => {
      const entries = [...declarations.tools, ...declarations.prompts, ...declarations.resources]
      const on = await Promise.all(
        entries.map(async ([name, entry]) => ((await entry.visibleTo?.(callerFor())) ? [name] : [])),
      )
      return on.flat()
    }
    return { alpha, beta, own, enabled }
  }

  test('do not affect entries of the same name in another part', async () => {
    const { alpha, beta, own, enabled } = whole()
    expect(await enabled()).toEqual([])
    await alpha.danger.enable()
    expect(await enabled()).toEqual(['alpha_danger'])
    await beta.prompt.enable()
    expect(await enabled()).toEqual(['alpha_danger', 'beta_ask'])
    await own.enable()
    await beta.note.enable()
    await alpha.danger.disable()
    expect(await enabled()).toEqual(['danger', 'beta_ask', 'beta://note'])
  })
})

test('interceptors of a mounted server wrap the methods of its own extensions only', async () => {
  const intercepted: string[] = []
  const inner = createServer({ name: 'inner', version: '1.0.0' })
    .use(extension('com.example/inner', { methods: { 'inner/read': () => ({ read: true }) } }))
    .intercept((call, next) => {
      intercepted.push(call.method)
      return next()
    })
  const outer = createServer({ name: 'outer', version: '1.0.0' })
    .use(extension('com.example/outer', { methods: { 'outer/read': () => ({ read: true }) } }))
    .use(mount(inner))
  for (const method of ['inner/read', 'outer/read']) await play(outer, method, {})
  expect(intercepted).toEqual(['inner/read'])
})

test('interceptors of a mounted proxy do not wrap lists of the outer server', async () => {
  const intercepted: string[] = []
  const inner = createServer({ name: 'inner', version: '1.0.0' })
    .use(proxy('https://weather.example/mcp'))
    .intercept((call, next) => {
      intercepted.push(call.method)
      return next()
    })
  await play(part().use(mount(inner)), 'tools/list', {})
  expect(intercepted).toEqual([])
})

describe('a method that is declared twice', () => {
  const named = (name: string) => createServer({ name, version: '1.0.0' })
  const reading = (answer: string) =>
    extension(`com.example/${answer}`, { methods: { 'notes/read': () => ({ answer }) } })
  const skillsOf = (folder: string) =>
    skills([
      {
        folder,
        frontmatter: { name: folder, description: folder },
        files: [{ path: 'SKILL.md', digest: `sha256:${'0'.repeat(64)}`, size: 1, text: folder }],
      },
    ])
  const twice = (method: string) =>
    `The method "${method}" is declared twice, by this server, its modules or mounted servers: rename or remove one`

  test('by two modules is refused', () => {
    expect(() => named('whole').use(reading('a')).use(reading('b'))).toThrow(twice('notes/read'))
    expect(() => named('whole').use(skillsOf('a')).use(skillsOf('b'))).toThrow(twice('skills/list'))
  })

  test('by a server and a mounted server is refused, in both orders', () => {
    const [a, b] = [named('a').use(reading('a')), named('b').use(reading('b'))]
    expect(() => named('whole').use(reading('own')).use(mount(a))).toThrow(twice('notes/read'))
    expect(() => named('whole').use(mount(a)).use(reading('own'))).toThrow(twice('notes/read'))
    expect(() => named('whole').use(mount(a)).use(mount(b))).toThrow(twice('notes/read'))
  })

  test('is accepted when one server is mounted twice, or when two servers have proxies', async () => {
    const a = named('a').use(reading('a'))
    const whole = named('whole')
      .use(mount(a, { prefix: 'x_' }))
      .use(mount(a, { prefix: 'y_' }))
    expect(await play(whole, 'notes/read', {})).toMatchObject({ outcome: { result: { answer: 'a' } } })
    const proxied = (name: string) => named(name).use(proxy(`https://${name}.example/mcp`))
    expect(() =>
      proxied('whole')
        .use(mount(proxied('one')))
        .use(mount(proxied('two'))),
    ).not.toThrow()
  })
})

describe('an extension that is declared twice', () => {
  const declaring = (settings: object) => extension('com.example/notes', { settings: { ...settings } })
  const server = () => createServer({ name: 'whole', version: '1.0.0' }).use(declaring({ pages: 1 }))
  const problem = 'The extension "com.example/notes" is declared twice, with different settings: declare it once'

  test('is refused when the settings differ', () => {
    expect(() => server().use(declaring({ pages: 2 }))).toThrow(problem)
    const inner = createServer({ name: 'inner', version: '1.0.0' }).use(declaring({}))
    expect(() => server().use(mount(inner))).toThrow(problem)
  })

  test('is one extension when the settings are the same', () => {
    expect(
      server()
        .use(declaring({ pages: 1 }))
        .use(mount(server())).declarations.extensions,
    ).toEqual({
      'com.example/notes': { pages: 1 },
    })
  })
})
