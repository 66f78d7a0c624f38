/** The site can be deployed. `test/slow/site.test.ts` builds it and looks at its pages. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from './pages.ts'

test('wrangler deploy --dry-run accepts the configuration of the site', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'edgemcp-site-'))
  try {
    cpSync(join(root, 'site/wrangler.toml'), join(folder, 'wrangler.toml'))
    mkdirSync(join(folder, 'dist'))
    writeFileSync(join(folder, 'dist/index.html'), '<!doctype html><title>edgemcp</title>')
    const wrangler = [join(root, 'node_modules/wrangler/bin/wrangler.js'), 'deploy', '--dry-run']
    const env = { ...process.env, WRANGLER_LOG: 'log', WRANGLER_SEND_METRICS: 'false' }
    const { stdout } = await promisify(execFile)(process.execPath, wrangler, { cwd: folder, env })
    expect(stdout).toContain('--dry-run: exiting now.')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
