/**
 * Checks the package as npm would publish it: `npm run package:check`. publint reads its manifest and files, arethetypeswrong resolves the types
 * of each entry point, and the number and size of its files have bounds. Exits with 1 for a problem.
 */
import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { Folder } from '../bench/folder.ts'
import { install } from '../bench/install.ts'
import { exitOnSignals, pack } from './pack.ts'

const root = resolve(import.meta.dirname, '..')
/** What users of a release download. A file more needs a reason. */
const most = { files: 1250, kilobytes: 3300 }
/** Problems of packages for ES modules only, as this one is: CommonJS loads it with `require` of Node.js 22 and newer. */
const expected = new Set(['NoResolution node10', 'CJSResolvesToESM node16-cjs'])

install(import.meta.dirname)
const { createPackageFromTarballData, checkPackage } = await import('@arethetypeswrong/core')
const { publint } = await import('publint')
const { formatMessage } = await import('publint/utils')

exitOnSignals()
using folder = new Folder()
for (const path of [root, join(root, 'create-edgemcp')]) await check(path)

async function check(path: string): Promise<void> {
  const { file, unpackedSize, entryCount } = pack(path, folder.path)
  const tarball = readFileSync(file)
  const kilobytes = Math.round(unpackedSize / 1000)
  const problems = [...(await lint(tarball)), ...(await typesOf(tarball))]
  if (entryCount > most.files) problems.push(`It has ${entryCount} files, more than ${most.files}.`)
  if (kilobytes > most.kilobytes) problems.push(`It has ${kilobytes} kB, more than ${most.kilobytes}.`)
  console.log(`${basename(file)}: ${entryCount} files, ${kilobytes} kB, ${Math.round(tarball.length / 1000)} kB packed`)
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
