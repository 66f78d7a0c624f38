/** `edgemcp submit`: checks a server with the rules of a directory, and writes the files that the directory takes. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { CliError, printableJson } from '../cli-error.ts'
import { projectFolder } from '../doctor/doctor.ts'
import { findingsOf, readProject } from '../doctor/examine.ts'
import { errorsFirst, type Finding, formatFindings, isGood } from '../doctor/finding.ts'
import { servedIn } from '../doctor/project.ts'
import { type Wrangler, wranglerOf } from '../doctor/wrangler.ts'
import { readFile, writeFile } from '../files.ts'
import { anthropic } from './anthropic.ts'
import type { Directory, Shape, SubmissionFile } from './directory.ts'
import { isObject, type Json, parseJson } from './json.ts'
import { microsoft } from './microsoft.ts'
import { openAi } from './openai.ts'
import { mcpRegistry } from './registry.ts'
import { tokenInUrl } from './rules.ts'
import { pagesFor, type Said, type Subject, subjectOf, subjectOfList } from './subject.ts'

export type SubmitOptions = Said & {
  readonly json?: boolean | undefined
  readonly out?: string | undefined
  /** A file with the result of `tools/list`. */
  readonly tools?: string | undefined
}

export const directories: ReadonlyMap<string, Directory> = new Map([
  ['anthropic', anthropic],
  ['openai', openAi],
  ['registry', mcpRegistry],
  ['microsoft', microsoft],
])

export type Submission = { readonly findings: readonly Finding[]; readonly files: readonly WrittenFile[] }

type WrittenFile = { readonly file: string; readonly status: 'written' | 'unchanged' | 'kept' | 'not written' }

/** @returns 1 when a finding is an error, otherwise 0 */
export async function submit(
  name: string | undefined,
  options: SubmitOptions,
  folder: string | undefined,
): Promise<number> {
  const directory = directories.get(name ?? '')
  if (name === undefined || !directory) {
    const all = [...directories.keys()].join(', ')
    throw new CliError(`Give a directory, ${name === undefined ? '' : `not "${name}": `}one of ${all}.`)
  }
  if (options.tools !== undefined) checkListOptions(name, options, folder)
  const submission =
    options.tools === undefined
      ? await submitProject(name, projectFolder(folder ?? '.'), options)
      : { findings: lint(directory, subjectOfList(options.tools)), files: [] }
  const { findings, files } = submission
  if (options.json) console.log(printableJson({ ok: isGood(findings), findings, files }))
  else console.log([formatFindings(findings), ...(files.length > 0 ? [formatFiles(files)] : [])].join('\n\n'))
  return isGood(findings) ? 0 : 1
}

/** @throws CliError for what does not go together with a list of tools */
function checkListOptions(name: string, options: SubmitOptions, folder: string | undefined): void {
  if (folder !== undefined) throw new CliError('Give --tools, or the folder of a project, not both.')
  const other = (['name', 'out', 'server', 'url'] as const).find((option) => options[option] !== undefined)
  if (other) throw new CliError(`Give --tools, or --${other} for a project, not both.`)
  if (name === 'registry') throw new CliError('The registry takes no tools: give the folder of a project, not --tools.')
}

/**
 * Checks the server of a project, and writes the files.
 *
 * @param folder of the project, absolute
 * @param wranglerFor see `examine`
 */
export async function submitProject(
  name: string,
  folder: string,
  { out, ...said }: SubmitOptions,
  wranglerFor: (folder: string) => Wrangler = wranglerOf,
): Promise<Submission> {
  const directory = directories.get(name) as Directory // The caller has checked the name.
  const project = await readProject(folder, wranglerFor, (log, config) => pagesFor(servedIn(log), config, said.url))
  if ('rule' in project) return { findings: [project], files: [] }
  if (project.servers.length === 0 || !project.runs) {
    return { findings: findingsOf(project).filter(({ level }) => level === 'error'), files: [] }
  }
  const subject = subjectOf(project, said)
  const target = out === undefined ? join(folder, 'submission', name) : resolve(out)
  const within = relative(folder, target)
  const { files, findings = [] } = directory.files(subject, (file, shape) => readObject(join(target, file), shape))
  const isFile = (path: string) => files.some(({ file }) => file === path)
  const found = [
    ...lint(directory, subject),
    ...findings.map((one) => (isFile(one.file) ? { ...one, file: join(within, one.file) } : one)),
  ].sort(errorsFirst)
  const hasSecret = found.some(({ rule }) => rule === tokenInUrl.name)
  return {
    findings: found,
    files: files.map((file) => write(target, hasSecret ? { ...file, text: undefined } : file)),
  }
}

/** Returns the findings of a directory, errors first. */
export const lint = (directory: Directory, subject: Subject): Finding[] =>
  directory.rules.flatMap((rule) => rule.check(subject)).sort(errorsFirst)

/** See `ReadJson`. */
function readObject(path: string, shape: Shape): Json | undefined {
  if (!existsSync(path)) return undefined
  const value = parseJson(readFile(path).toString())
  const wrong = (what: string) => new CliError(`${relative('.', path)} ${what}: correct it, or remove it.`)
  if (!isObject(value)) throw wrong('is not a JSON object')
  for (const [name, kind] of Object.entries(shape)) {
    const member = value[name]
    if (member !== undefined && !shapes[kind].has(member)) throw wrong(`has "${name}", which is not ${shapes[kind].is}`)
  }
  return value
}

type Kind = { readonly is: string; has(value: unknown): boolean }

const shapes: Readonly<Record<Shape[string], Kind>> = {
  object: { is: 'an object', has: isObject },
  objects: { is: 'a list of objects', has: (value) => Array.isArray(value) && value.every(isObject) },
  map: { is: 'an object of objects', has: (value) => isObject(value) && Object.values(value).every(isObject) },
}

function write(target: string, { file, text, isOurs }: SubmissionFile): WrittenFile {
  const path = join(target, file)
  const named = (status: WrittenFile['status']) => ({ file: relative('.', path), status })
  if (text === undefined) return named('not written')
  const existing = existsSync(path) ? readFile(path).toString() : undefined
  if (existing === text) return named('unchanged')
  if (existing !== undefined && isOurs?.(existing) === false) return named('kept')
  writeFile(path, text)
  return named('written')
}

const statuses: Readonly<Record<WrittenFile['status'], string>> = {
  written: 'Wrote',
  unchanged: 'Unchanged:',
  kept: 'Kept:',
  'not written': 'Not written, until the errors are fixed:',
}

const formatFiles = (files: readonly WrittenFile[]): string =>
  files.map(({ file, status }) => `${statuses[status]} ${file}`).join('\n')
