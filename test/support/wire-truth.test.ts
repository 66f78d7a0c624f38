import { expect, test } from 'vitest'
import { everyRevision } from '../../worker/testing/index.ts'
import { wireTruth } from './wire-truth.ts'

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const

for (const revision of everyRevision) {
  const caching = revision >= '2026-07-28' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
  const tool = { name: 'a', description: 'b', inputSchema: { type: 'object' } }

  test(`accepts a valid ${revision} list`, () => {
    const truth = wireTruth(revision)
    truth.see('sent', list)
    truth.see('received', { jsonrpc: '2.0', id: 1, result: { tools: [tool], ...caching } })
    truth.check()
  })

  test(`refuses a tool without a schema in ${revision}`, () => {
    const truth = wireTruth(revision)
    truth.see('sent', list)
    truth.see('received', { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a' }], ...caching } })
    expect(() => truth.check()).toThrow(/inputSchema/)
  })

  test(`refuses unknown messages and members in ${revision}`, () => {
    const truth = wireTruth(revision)
    truth.see('received', { jsonrpc: '2.0', method: 'notifications/weather' })
    truth.see('sent', list)
    truth.see('received', { jsonrpc: '2.0', id: 1, result: { tools: [{ ...tool, colour: 'red' }], ...caching } })
    expect(() => truth.check()).toThrow(/weather(.|\n)*additional properties/)
  })

  test(`refuses an empty transcript in ${revision}`, () => {
    expect(() => wireTruth(revision).check()).toThrow('Nothing was seen')
  })
}
