/**
 * Prints what a user of the package installs, as CycloneDX: `npm run --silent release:sbom`. It installs the package into an empty folder, because
 * the repository has packages for development that the same names stand for.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'edgemcp-sbom-'))
try {
  const npm = (cwd: string, ...params: string[]) =>
    execFileSync('npm', params, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const packed = npm(root, 'pack', '--json', '--silent', '--pack-destination', folder)
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('['))) as [{ filename: string }]
  const project = join(folder, 'project')
  mkdirSync(project)
  writeFileSync(
    join(project, 'package.json'),
    '{"name":"edgemcp-and-its-dependencies","version":"0.0.0","private":true}',
  )
  npm(project, 'install', '--silent', '--ignore-scripts', '--no-audit', '--no-fund', join(folder, filename))
  console.log(npm(project, 'sbom', '--sbom-format', 'cyclonedx'))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
