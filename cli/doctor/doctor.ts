/** `edgemcp doctor`: reports mistakes in a project, and how to fix them. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { CliError, printableJson } from '../cli-error.ts'
import { withPath } from '../files.ts'
import { examine } from './examine.ts'
import { formatFindings, isGood } from './finding.ts'

/** @returns 1 when a finding is an error, otherwise 0 */
export async function doctor(path = '.', { json }: { json?: boolean | undefined }): Promise<number> {
  const findings = await examine(projectFolder(path))
  if (json) console.log(printableJson({ ok: isGood(findings), findings }))
  else console.log(formatFindings(findings))
  return isGood(findings) ? 0 : 1
}

/** Returns the absolute path of a folder. @throws CliError for another path */
export function projectFolder(path: string): string {
  const folder = resolve(path)
  const found = withPath('read', path, () => statSync(folder, { throwIfNoEntry: false }))
  if (!found) throw new CliError(`There is no folder ${path}.`)
  if (!found.isDirectory()) throw new CliError(`${path} is a file: give the folder of the project.`)
  return folder
}
