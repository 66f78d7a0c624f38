/** `edgemcp doctor`: reports mistakes in a project, and how to fix them. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import { withPath } from '../files.ts'
import { examine } from './examine.ts'
import type { Change, Finding } from './finding.ts'

/** @returns 1 when a finding is an error, otherwise 0 */
export async function doctor(path = '.', { json }: { json?: boolean | undefined }): Promise<number> {
  const folder = resolve(path)
  const found = withPath('read', path, () => statSync(folder, { throwIfNoEntry: false }))
  if (!found) throw new CliError(`There is no folder ${path}.`)
  if (!found.isDirectory()) throw new CliError(`${path} is a file: give the folder of the project.`)
  const findings = await examine(folder)
  const isGood = findings.every(({ level }) => level === 'hint')
  if (json) console.log(JSON.stringify({ ok: isGood, findings }, null, 2))
  else console.log(findings.length === 0 ? 'No problems found.' : findings.map(formatFinding).join('\n\n'))
  return isGood ? 0 : 1
}

function formatFinding({ level, file, line, problem, fix, change, rule }: Finding): string {
  const place = line === undefined ? file : `${file}:${line}`
  return [
    `${level}  ${place}  (${rule})`,
    `  ${problem}`,
    `  Fix: ${fix}`,
    ...(change ? [formatChange(change)] : []),
  ].join('\n')
}

function formatChange({ file, from, to }: Change): string {
  const lines = (sign: string, text: string) =>
    text
      .replace(/^\n+|\n+$/g, '')
      .split('\n')
      .map((line) => `    ${sign} ${line}`)
  return [
    ...(file === undefined ? [] : [`    in ${file}:`]),
    ...(from === undefined ? [] : lines('-', from)),
    ...(to === '' ? [] : lines('+', to)),
  ].join('\n')
}
