import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Installs what bench/package.json names, unless that has been done since its lock file changed. */
export function install(): void {
  const [lock, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((path) =>
    join(import.meta.dirname, path),
  ) as [string, string]
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  // npm run tells its children where the outer package is.
  const { npm_config_local_prefix: _, ...env } = process.env
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: import.meta.dirname,
    env,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('npm ci failed in bench/')
}
