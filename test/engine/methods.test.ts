import { describe, expect, test } from 'vitest'
import { createServer } from '../../worker/declarations/server.ts'
import { methods } from '../../worker/engine/methods/index.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { newestRevision, revisions } from '../../worker/protocol/revisions/index.ts'

const { declarations } = createServer({ name: 'plain', version: '1.0.0' })

describe('the methods of the protocol', () => {
  test('are the requests of all protocol versions', () => {
    const names = new Set(revisions.flatMap(({ requests }) => [...requests]))
    // A plugin opens the streams of the last one.
    expect([...Object.keys(methods), 'subscriptions/listen'].sort()).toEqual([...names].sort())
  })

  test('require a session only in versions with sessions', () => {
    const changing = revisions.map((revision) =>
      [...revision.requests].filter(
        (method) => resolve(declarations, { method }).methodIn(revision)?.requires === 'session',
      ),
    )
    const all = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
    expect(changing).toEqual(revisions.map(({ stateless }) => (stateless ? [] : all)))
  })

  test.each(['constructor', '__proto__', 'toString'])('do not include %s', (name) => {
    const target = resolve(declarations, { method: name })
    expect([methods[name], target.methodIn(newestRevision)]).toEqual([undefined, undefined])
  })
})
