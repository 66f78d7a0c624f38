/** `edgemcp doctor`: what is wrong with a project, and how to mend it. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Refusal } from '../refusal.ts'
import { examine } from './examine.ts'
import type { Change, Finding } from './finding.ts'

/** @returns 1 when there is an error, 0 when there are only hints, or nothing */
export async function doctor(given = '.', { json }: { json?: boolean | undefined }): Promise<number> {
  const folder = resolve(given)
  if (!existsSync(folder)) throw new Refusal(`There is no folder ${given}.`)
  const found = await examine(folder)
  const isGood = found.every(({ level }) => level === 'hint')
  if (json) console.log(JSON.stringify({ ok: isGood, findings: found }, null, 2))
  else console.log(found.length === 0 ? 'Nothing is wrong with it.' : found.map(told).join('\n\n'))
  return isGood ? 0 : 1
}

function told({ level, file, line, problem, fix, change, rule }: Finding): string {
  const place = line === undefined ? file : `${file}:${line}`
  return [`${level}  ${place}  (${rule})`, `  ${problem}`, `  Fix: ${fix}`, ...(change ? [shown(change)] : [])].join(
    '\n',
  )
}

function shown({ file, from, to }: Change): string {
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
