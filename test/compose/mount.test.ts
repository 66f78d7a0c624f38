import { expect, test } from 'vitest'
import { mount } from '../../worker/compose/mount.ts'
import { createServer } from '../../worker/server/server.ts'

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
