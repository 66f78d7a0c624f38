import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { assets, assetsPath } from '../../scripts/inspector.ts'

test('assets.ts is built from inspector/: run npm run inspector', async () => {
  expect(readFileSync(assetsPath, 'utf8') === (await assets())).toBe(true)
})

test('the script and styles of the inspector stay below their size limit', async () => {
  expect(gzipSync(await assets()).byteLength).toBeLessThan(31_000)
})
