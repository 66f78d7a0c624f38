import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js')
const config = join(root, 'examples/hello/wrangler.toml')

/** What wrangler would deploy, from a shell with this environment. */
async function bundle(NODE_ENV?: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-'))
  try {
    const args = [wrangler, 'deploy', '--dry-run', '--outdir', folder, '--config', config]
    await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_ENV } })
    return readFileSync(join(folder, 'index.js'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const ofDevelopment = [
  'worker/plugins/development/',
  'worker/declarations/check-uncalled.ts',
  'worker/declarations/other-libraries.ts',
  'worker/declarations/proposal.ts',
  'worker/engine/check-arguments.ts',
  'did you mean',
  'AsyncLocalStorage',
  'so it happens again',
  'edgemcp cannot run ',
  'worker/plugins/page/inspector/',
  'Client capabilities',
  'edgemcpRows',
  'Server-Timing',
  'Only the inspector can read this',
]

test('a production bundle contains no code for development, and no check that repeats types', async () => {
  const carried = (text: string) => ofDevelopment.filter((part) => text.includes(part))
  expect(carried(await bundle('development'))).toEqual(ofDevelopment)
  expect(carried(await bundle())).toEqual([])
})
