/** A directory of MCP servers: its rules, and the files that it takes. */
import type { Finding } from '../doctor/finding.ts'
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

/** @throws CliError when the file is not a JSON object */
export type ReadJson = (file: string) => Json | undefined

export type Json = Readonly<Record<string, unknown>>

export type Prepared = {
  readonly files: readonly SubmissionFile[]
  /** What the files of the earlier run and the server together make wrong. */
  readonly findings?: readonly Finding[]
}

export type SubmissionFile = {
  /** Relative to the folder of the submission. */
  readonly file: string
  /** `undefined`: the file cannot be written before the errors are fixed. */
  readonly text: string | undefined
  /** Keeps a file that exists as it is. */
  readonly isKept?: boolean
}

type Problem = Pick<Finding, 'problem' | 'fix'>

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

/** JSON as people edit it. */
export const jsonText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
