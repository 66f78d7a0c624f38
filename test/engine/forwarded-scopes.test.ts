/** Scopes of what several other servers may have: which of them has it is known only when it is asked. */

import { expect, test } from 'vitest'
import { draftOf } from '../../worker/declarations/declarations.ts'
import { addForwarded } from '../../worker/declarations/extend.ts'
import type { Forwarded } from '../../worker/declarations/forwarded.ts'
import { createServer } from '../../worker/declarations/server.ts'
import { scopesOf } from '../../worker/engine/required-scopes.ts'
import { resolve } from '../../worker/engine/resolve.ts'
import { subjectsOf } from '../../worker/plugins/observe/audit/subjects.ts'

const forwarding = (prefix: string, scopes: readonly string[]): Forwarded => ({
  what: 'a proxy',
  prefix,
  scopes,
  guarded: new Map(),
  accessTo: (kind, name) =>
    kind === 'resource' || name.startsWith(prefix) ? { visibleTo: undefined, scopes } : undefined,
})
const declarations = draftOf(createServer({ name: 'gateway', version: '1.0.0' }))
addForwarded(declarations, [forwarding('', ['x']), forwarding('', ['y']), forwarding('other_', ['z'])])

const call = { method: 'tools/call', params: { name: 'slow' } }
const open = async () => undefined
const principal = (scopes: string[]) => ({ issuer: 'https://issuer.example', subject: 'ada', scopes, claims: {} })

test('a stream of a call requires the scopes of every server that may answer it', async () => {
  expect(await scopesOf(resolve(declarations, call), open)).toEqual(['x', 'y'])
  expect(
    await scopesOf(resolve(declarations, { method: 'resources/read', params: { uri: 'note://1' } }), open),
  ).toEqual(['x', 'y', 'z'])
})

test('a stream of a call requires no scopes of servers that refuse its caller', async () => {
  expect(await scopesOf(resolve(declarations, call), open, principal(['x']))).toEqual(['x'])
  expect(await scopesOf(resolve(declarations, call), open, principal(['x', 'y', 'z']))).toEqual(['x', 'y'])
})

test('a stream of a call requires the scopes of every server when all of them refuse its caller', async () => {
  expect(await scopesOf(resolve(declarations, call), open, principal([]))).toEqual(['x', 'y'])
})

test('the audit log has the scopes of every server that may answer a call', async () => {
  const told = (scopes: string[]) =>
    subjectsOf(call, async (asked) => scopesOf(resolve(declarations, asked), open, principal(scopes)))
  expect(await told([])).toEqual([{ name: 'slow', scopes: ['x', 'y'] }])
  expect(await told(['x'])).toEqual([{ name: 'slow', scopes: ['x'] }])
})
