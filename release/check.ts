/**
 * Checks the package as npm would publish it: `npm run package:check`. publint reads its manifest and files, arethetypeswrong resolves the types
 * of each entry point, and the number and size of its files have bounds. Exits with 1 for a problem.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { install } from '../bench/install.ts'

const root = resolve(import.meta.dirname, '..')
/** What users of a release download. A file more needs a reason. */
const most = { files: 1250, kilobytes: 3300 }
/** Problems of packages for ES modules only, as this one is: CommonJS loads it with `require` of Node.js 22 and newer. */
const expected = new Set(['NoResolution node10', 'CJSResolvesToESM node16-cjs'])

type Packed = { readonly filename: string; readonly unpackedSize: number; readonly entryCount: number }

install(import.meta.dirname)
const { createPackageFromTarballData, checkPackage } = await import('@arethetypeswrong/core')
const { publint } = await import('publint')
const { formatMessage } = await import('publint/utils')

const folder = mkdtempSync(join(tmpdir(), 'edgemcp-package-'))
try {
  for (const path of [root, join(root, 'create-edgemcp')]) await check(path)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function check(path: string): Promise<void> {
  const stdout = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: path,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ filename, unpackedSize, entryCount }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [Packed]
  const tarball = readFileSync(join(folder, filename))
  const kilobytes = Math.round(unpackedSize / 1000)
  const problems = [...(await lint(tarball)), ...(await typesOf(tarball))]
  if (entryCount > most.files) problems.push(`It has ${entryCount} files, more than ${most.files}.`)
  if (kilobytes > most.kilobytes) problems.push(`It has ${kilobytes} kB, more than ${most.kilobytes}.`)
  console.log(`${filename}: ${entryCount} files, ${kilobytes} kB, ${Math.round(tarball.length / 1000)} kB packed`)
  for (const problem of problems) console.log(`  ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}

async function lint(tarball: Buffer): Promise<string[]> {
  const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer }, strict: true })
  return messages.map((message) => formatMessage(message, pkg) ?? message.code)
}

async function typesOf(tarball: Buffer): Promise<string[]> {
  const result = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)))
  if (!result.types) return []
  return result.problems
    .map((problem) => ({
      name: 'resolutionKind' in problem ? `${problem.kind} ${problem.resolutionKind}` : problem.kind,
      where: 'entrypoint' in problem ? problem.entrypoint : JSON.stringify(problem),
    }))
    .filter(({ name }) => !expected.has(name))
    .map(({ name, where }) => `${name}: ${where}`)
}
