/** A mistake in a project. */
import { printable } from '../cli-error.ts'

export type Finding = {
  /** The rule that found it: one word for each mistake. */
  readonly rule: string
  /** An error breaks a feature or admits unauthorized callers. A hint is advice. */
  readonly level: 'error' | 'hint'
  /** Relative to the project's folder. */
  readonly file: string
  /** From 1. */
  readonly line?: number | undefined
  readonly problem: string
  readonly fix: string
  /** The fix as an edit of the file. */
  readonly change?: Change | undefined
}

/** Replaces a text, or appends to the file. */
export type Change = {
  /** Default: the file of the finding. */
  readonly file?: string
  readonly from?: string
  readonly to: string
}

/** Orders findings: errors before hints. */
export const errorsFirst = (a: Finding, b: Finding): number => Number(a.level === 'hint') - Number(b.level === 'hint')

/** Are all findings hints? */
export const isGood = (findings: readonly Finding[]): boolean => findings.every(({ level }) => level === 'hint')

/** Returns findings as a text for a terminal. */
export const formatFindings = (findings: readonly Finding[]): string =>
  findings.length === 0 ? 'No problems found.' : findings.map(formatFinding).join('\n\n')

function formatFinding({ level, file, line, problem, fix, change, rule }: Finding): string {
  const place = line === undefined ? file : `${file}:${line}`
  return [
    `${level}  ${inOneLine(place)}  (${rule})`,
    `  ${indented(problem)}`,
    `  Fix: ${indented(fix)}`,
    ...(change ? [formatChange(change)] : []),
  ].join('\n')
}

/** Errors of builds have several lines. Those of a name must not look like another finding. */
const indented = (text: string): string => printable(text).replaceAll('\n', '\n      ')
const inOneLine = (text: string): string => printable(text).replaceAll('\n', '\\n')

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
