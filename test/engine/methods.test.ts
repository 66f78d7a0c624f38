import { describe, expect, test } from 'vitest'
import { methodIn, methods } from '../../worker/engine/methods/index.ts'
import { newestRevision, revisions } from '../../worker/protocol/revisions/index.ts'

describe('the methods of the protocol', () => {
  test('are the requests of all protocol versions', () => {
    const names = new Set(revisions.flatMap(({ requests }) => [...requests]))
    expect(Object.keys(methods).sort()).toEqual([...names].sort())
  })

  test('require a session only in versions with sessions', () => {
    const changing = revisions.map((revision) =>
      [...revision.requests].filter((name) => methodIn(revision, name)?.requires === 'session'),
    )
    const all = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
    expect(changing).toEqual(revisions.map(({ stateless }) => (stateless ? [] : all)))
  })

  test.each(['constructor', '__proto__', 'toString'])('do not include %s', (name) => {
    expect([methods[name], methodIn(newestRevision, name)]).toEqual([undefined, undefined])
  })
})
