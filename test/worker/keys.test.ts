import { expect, test, vi } from 'vitest'
import { Store } from '../../durable-objects/store/object.ts'
import { keys, sessionClasses, storedKeyRing } from '../../worker/platform.ts'
import { mintKeyRing } from '../../worker/sealing/seal.ts'

test('a request whose key ring never loads does not block other requests', async () => {
  const rings = [new Promise<never>(() => {}), Promise.resolve(mintKeyRing())]
  const sealerOf = keys(() => rings.shift() ?? Promise.reject(new Error('The key ring was asked for again')))
  const abandoned = sealerOf('one')
  abandoned.catch(() => {})
  const sealer = await sealerOf('one')
  const sealed = await sealer.seal('purpose', undefined, 'value', 1_000)
  // What is known is not asked for again.
  expect(await (await sealerOf('one')).open('purpose', undefined, sealed)).toBe('value')
})

test('a request gets its key ring although the object with the keys restarts', async () => {
  const isNew = !sessionClasses.has('McpSession')
  sessionClasses.add('McpSession')
  const lost = () => Promise.reject(new Error('Durable Object reset because its code was updated.'))
  const asked = vi.spyOn(Store.prototype, 'keys').mockImplementationOnce(lost)
  try {
    expect(await storedKeyRing('McpSession', { hidesErrors: false })).toMatchObject({ current: expect.any(String) })
    expect(asked.mock.calls.length).toBeGreaterThan(1)
  } finally {
    asked.mockRestore()
    if (isNew) sessionClasses.delete('McpSession')
  }
})
