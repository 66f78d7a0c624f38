/**
 * Prints what a user of the package installs, as CycloneDX: `npm run --silent release:sbom`. It installs the package into an empty folder, because
 * the repository has packages for development that the same names stand for.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Folder } from '../bench/folder.ts'
import { exitOnSignals, pack } from './pack.ts'

exitOnSignals()
using folder = new Folder()
const { file } = pack(resolve(import.meta.dirname, '..'), folder.path)
const project = join(folder.path, 'project')
mkdirSync(project)
writeFileSync(join(project, 'package.json'), '{"name":"edgemcp-and-its-dependencies","version":"0.0.0","private":true}')
const npm = (...params: string[]) =>
  execFileSync('npm', params, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
npm('install', '--silent', '--ignore-scripts', '--no-audit', '--no-fund', file)
console.log(npm('sbom', '--sbom-format', 'cyclonedx'))
