import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Installs the packages of a folder, unless that was done after the last change of its lock file. Default: bench/. */
export function install(folder: string = import.meta.dirname): void {
  const [lock, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((path) =>
    join(folder, path),
  ) as [string, string]
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  // npm run sets variables of the outer package for its children.
  const { npm_config_local_prefix: _, ...env } = process.env
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    env,
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`npm ci failed in ${folder}`)
}
