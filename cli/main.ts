/** The command line: which command, with which arguments. */
import { parseArgs } from 'node:util'
import { doctor } from './doctor/doctor.ts'
import { init } from './init/init.ts'
import { ownPackage } from './own-package.ts'
import { Refusal } from './refusal.ts'

const usage = `edgemcp ${ownPackage().version}: MCP servers on Cloudflare Workers

  npx edgemcp init [folder]      a new project
      --template <name>          hello, notes or protected
      --yes                      asks nothing

  npx edgemcp doctor [folder]    what is wrong with a project, and how to mend it
      --json                     for programs
`

const options = {
  template: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

const optionsOf: Readonly<Record<string, readonly string[]>> = { init: ['template', 'yes'], doctor: ['json'] }

/**
 * Runs one command.
 *
 * @param args as they were typed, without the program's own name
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options })
    const [command, folder, ...others] = positionals
    if (values.version) return say(ownPackage().version)
    if (values.help || command === undefined) return say(usage)
    const known = optionsOf[command]
    if (!known)
      throw new Refusal(`There is no command "${command}": there are ${Object.keys(optionsOf).join(' and ')}.`)
    if (others.length > 0) throw new Refusal(`One folder at a time: "${others[0]}" is one too many.`)
    const foreign = Object.keys(values).find((name) => !known.includes(name))
    if (foreign) throw new Refusal(`${command} has no option --${foreign}: see npx edgemcp --help.`)
    return command === 'init' ? await init(folder, values) : await doctor(folder, values)
  } catch (problem) {
    const isExpected = problem instanceof Refusal || (problem as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
    if (!isExpected) throw problem
    console.error((problem as Error).message)
    return 1
  }
}

function say(text: string): number {
  console.log(text.trimEnd())
  return 0
}
