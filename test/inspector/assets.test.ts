import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { assets, assetsPath } from '../../scripts/inspector.ts'

test('the script that is served is the one of inspector/: npm run inspector writes it', async () => {
  expect(readFileSync(assetsPath, 'utf8') === (await assets())).toBe(true)
})

test('the inspector is small', async () => {
  expect(gzipSync(await assets()).byteLength).toBeLessThan(30_000)
})
