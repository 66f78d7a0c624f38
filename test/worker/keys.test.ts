import { expect, test } from 'vitest'
import { keys } from '../../worker/platform.ts'
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
