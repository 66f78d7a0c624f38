/** A directory of MCP servers: its rules, and the files that it takes. */
import type { Finding } from '../doctor/finding.ts'
import type { Json } from './json.ts'
import type { Place, ProjectSubject, Subject, SubmittedServer, Tool } from './subject.ts'

export type Directory = {
  /** For users. */
  readonly title: string
  readonly rules: readonly Rule[]
  /**
   * Returns the files to write for a server.
   *
   * @param read returns what a file of an earlier run contains; `undefined` without one
   */
  files(subject: ProjectSubject, read: ReadJson): Prepared
}

export type Rule = {
  /** As in findings. */
  readonly name: string
  check(subject: Subject): Finding[]
}

/**
 * @param shape what some members must be
 * @throws CliError when the file is not a JSON object, or a member has another shape
 */
export type ReadJson = (file: string, shape: Shape) => Json | undefined

/** An object, a list of objects, or an object of objects. */
export type Shape = Readonly<Record<string, 'object' | 'objects' | 'map'>>

export type Prepared = {
  readonly files: readonly SubmissionFile[]
  /** Mistakes in these files, whose paths are relative to the folder of the submission too, and in the project. Default: none. */
  readonly findings?: readonly Finding[]
}

export type SubmissionFile = {
  /** Relative to the folder of the submission. */
  readonly file: string
  /** `undefined`: the file cannot be written before the errors are fixed. */
  readonly text: string | undefined
  /** Whether a file that exists may be overwritten. Default: it may, because `text` has what a user wrote. */
  isOurs?(existing: string): boolean
}

export type Problem = Pick<Finding, 'problem' | 'fix'>

/** Makes a rule of a check of one tool. */
export const toolRule = (
  name: string,
  level: Finding['level'],
  check: (tool: Tool, subject: Subject) => Problem | readonly Problem[] | undefined,
): Rule => ({
  name,
  check: (subject) =>
    subject.tools.flatMap((tool) =>
      [check(tool, subject) ?? []]
        .flat()
        .map((found) => ({ rule: name, level, ...subject.locate(tool.name), ...found })),
    ),
})

/** Makes a rule of a check of the server. A list of tools has none. */
export const serverRule = (
  name: string,
  level: Finding['level'],
  check: (server: SubmittedServer, subject: Subject) => (Problem & Partial<Place>) | undefined,
): Rule => ({
  name,
  check(subject) {
    const found = subject.server && check(subject.server, subject)
    return found && subject.server ? [{ rule: name, level, ...subject.server.servedAt, ...found }] : []
  },
})

/** Returns a list with the item that the command writes in its place, or at the end. Users may add others. */
export function withOwn<T>(items: readonly T[] = [], isOwn: (item: T) => boolean, write: (own?: T) => T): T[] {
  const at = items.findIndex(isOwn)
  return at < 0 ? [...items, write()] : items.map((item, index) => (index === at ? write(item) : item))
}

/** The start of a text that a user has to replace. */
const gap = 'TODO: '

/** Returns a text that a user has to replace. @param what to write */
export const toFillIn = (what: string): string => gap + what

export const isFilledIn = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && !value.startsWith(gap.trim())

/** Returns a finding for the texts of a file that a user has to write. */
export function unfilled(file: string, value: object): Finding[] {
  const names = gapsIn(value, '')
  if (names.length === 0) return []
  const listed = names.slice(0, 3).join(', ')
  const others = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return [
    {
      rule: 'to-fill-in',
      level: 'hint',
      file,
      problem: `Only you can write ${names.length === 1 ? 'this text' : `these ${names.length} texts`}: ${listed}${others}.`,
      fix: `Replace each text that begins with ${gap.trim()} The next run keeps what you write.`,
    },
  ]
}

function gapsIn(value: unknown, name: string): string[] {
  if (typeof value === 'string') return value.startsWith(gap.trim()) ? [name] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => gapsIn(member, name === '' ? key : `${name}.${key}`))
}
