import { describe, expect, test } from 'vitest'
import { createServer } from '../../worker/declarations/server.ts'
import { extension } from '../../worker/engine/extension.ts'
import { mount } from '../../worker/plugins/compose/mount.ts'
import { toggleKey } from '../../worker/protocol/changes.ts'
import { play } from '../engine/stage.ts'
import { deliverChanges } from '../support/changes.ts'

const part = () => {
  const server = createServer({ name: 'part', version: '1.0.0' })
  server.tool('commit', { description: 'Commits' }, () => 'Committed')
  return server
}

test.each([
  ['git/', 'The tool name "git/commit" must be 1 to 128 letters, digits, "_", "." or "-"'],
  ['a'.repeat(123), /^The tool name "a{123}commit" must be/],
])('a prefix that makes no names of tools is refused: %s', (prefix, problem) => {
  const server = createServer({ name: 'whole', version: '1.0.0' })
  expect(() => server.use(mount(part(), { prefix }))).toThrow(problem)
})

test('what both declare is refused', () => {
  const server = part()
  expect(() => server.use(mount(part()))).toThrow('"commit" is declared by both servers: mount one with a prefix')
  expect([...server.use(mount(part(), { prefix: 'git.' })).registry.tools.keys()]).toEqual(['commit', 'git.commit'])
})

test('a prefix of use() goes before the names of what is mounted', () => {
  const server = createServer({ name: 'whole', version: '1.0.0' })
  server.use(mount(part(), { prefix: 'git_' }), { prefix: 'w_' })
  expect([...server.registry.tools.keys()]).toEqual(['w_git_commit'])
})

describe('what is enabled and disabled in a mounted server', () => {
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
    const { registry } = server
    const enabled = async () => {
      const entries = [...registry.tools, ...registry.prompts, ...registry.resources]
      const on = await Promise.all(
        entries.map(async ([name, entry]) => ((await entry.visibleTo?.({ principal: undefined })) ? [name] : [])),
      )
      return on.flat()
    }
    return { alpha, beta, own, enabled }
  }

  test('is not what has the same name in another part', async () => {
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

test('interceptors of a mounted server wrap the methods of its extensions, and of no other', async () => {
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
