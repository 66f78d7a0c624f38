import { expect, test } from 'vitest'
import { matchPath } from '../../worker/protocol/match-path.ts'

test.each([
  ['/mcp', '/mcp'],
  ['/mcp/', '/mcp'],
  ['/mcp//', '/mcp'],
  ['/', '/'],
  ['//', '/'],
  ['/declared', '/declared/'],
  ['/MCP', undefined],
  ['/mcp/x', undefined],
  ['//mcp', undefined],
  ['/%6dcp', undefined],
])('%s is for %s', (pathname, path) => {
  expect(matchPath(pathname, ['/', '/mcp', '/declared/'])).toBe(path)
})

test('a long run of slashes takes linear time', () => {
  const startMs = performance.now()
  expect(matchPath(`/${'/'.repeat(200_000)}x`, ['/mcp'])).toBeUndefined()
  expect(performance.now() - startMs).toBeLessThan(2000)
})
