/** Questions at a terminal, each with a default answer. */
import { createInterface } from 'node:readline/promises'
import { CliError } from '../cli-error.ts'

export async function ask(question: string, usual: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await terminal.question(`${question} (${usual}): `)).trim() || usual
  } catch {
    // Ctrl+C and Ctrl+D cancel.
    throw new CliError('\nNothing was written.')
  } finally {
    terminal.close()
  }
}

/** @param choices descriptions by name; the first one is the default */
export async function choose<T extends string>(question: string, choices: Readonly<Record<T, string>>): Promise<T> {
  const names = Object.keys(choices) as T[]
  for (const name of names) console.log(`  ${name.padEnd(10)} ${choices[name]}`)
  for (;;) {
    const answer = await ask(question, names[0] as T)
    const chosen = names.find((name) => name === answer)
    if (chosen) return chosen
    console.log(`"${answer}" is not a template: type ${names.join(', ')}.`)
  }
}
