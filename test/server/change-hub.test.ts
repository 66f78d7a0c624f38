import { describe, expect, test, vi } from 'vitest'
import { ChangeHub, type Changes } from '../../worker/declarations/change-hub.ts'
import { draftOf } from '../../worker/declarations/declarations.ts'
import { createServer } from '../../worker/declarations/server.ts'
import { withPlugins } from '../../worker/merge-plugins.ts'

const change = { list: 'tools' } as const
const delivering = () => ({
  publish: vi.fn<Changes['publish']>(async () => {}),
  setEnabled: vi.fn<Changes['setEnabled']>(async () => {}),
  enabledOverrides: vi.fn<Changes['enabledOverrides']>(async () => ({})),
})

describe('change notifications of a server', () => {
  test('are delivered by each endpoint, and by one of those with the same key', async () => {
    const hub = new ChangeHub()
    const [first, replaced, second] = [delivering(), delivering(), delivering()]
    hub.connect('a', replaced)
    hub.connect('a', first)
    hub.connect('b', second)
    await hub.publish(change, { tenant: 'acme', issuer: 'https://issuer.example' })
    await hub.setEnabled('tools', 'hammer', false)
    expect(
      [first, replaced, second].map(({ publish, setEnabled }) => [publish.mock.calls, setEnabled.mock.calls]),
    ).toEqual([
      [
        [[change, { tenant: 'acme', issuer: 'https://issuer.example' }, new Set()]],
        [['tools', 'hammer', false, new Set()]],
      ],
      [[], []],
      [
        [[change, { tenant: 'acme', issuer: 'https://issuer.example' }, new Set()]],
        [['tools', 'hammer', false, new Set()]],
      ],
    ])
  })

  test('are an error that names the fix when no endpoint delivers them', async () => {
    const hub = new ChangeHub()
    hub.connect('a', { ...delivering(), isConnected: false })
    const problem =
      'Change notifications are disabled: add subscriptions() of "edgemcp/subscriptions" to the plugins of serve()'
    await expect(hub.publish(change)).rejects.toThrow(problem)
    await expect(hub.setEnabled('tools', 'hammer', true)).rejects.toThrow(problem)
    expect(await hub.enabledOverrides()).toEqual({})
  })

  test('an entry that one endpoint disabled is disabled at endpoints that connect later', async () => {
    const hub = new ChangeHub()
    hub.connect('new', { ...delivering(), enabledOverrides: async () => ({ 'tools bench': true }) })
    hub.connect('old', {
      ...delivering(),
      enabledOverrides: async () => ({ 'tools saw': false, 'tools bench': false }),
    })
    expect(await hub.enabledOverrides()).toEqual({ 'tools saw': false, 'tools bench': false })
  })

  test('are completed, and their errors logged, when the application does not await them', async () => {
    const hub = new ChangeHub()
    const completed: Promise<void>[] = []
    hub.completeWith((work) => completed.push(work))
    hub.connect('a', { ...delivering(), publish: () => Promise.reject(new Error('out of reach')) })
    void hub.publish(change)
    expect(completed).toHaveLength(1)
    await expect(completed[0]).rejects.toThrow('out of reach')
    await expect(hub.publish(change)).rejects.toThrow('out of reach')
    // The application has the error.
    await completed[1]
  })
})

test('a plugin cannot add declarations to its server', () => {
  const server = createServer({ name: 'n', version: '1' })
  const served = Object.create(server)
  expect(() => served.tool('t', { description: 'd' }, () => '')).toThrow('A plugin cannot add declarations to a server')
  expect(draftOf(server).tools.size).toBe(0)
})

test('a plugin cannot write to the declarations of its endpoint', () => {
  const { declarations } = createServer({ name: 'n', version: '1' })
  const served = withPlugins(
    declarations,
    [],
    () => {
      throw new Error('There is no runtime')
    },
    () => true,
  )
  for (const member of ['tools', 'interceptors', 'instrument', 'publish']) {
    expect(() => Object.assign(served, { [member]: () => {} })).toThrow(TypeError)
  }
})
