/** The command line: which command, with which arguments. */
import { parseArgs } from 'node:util'
import { CliError } from './cli-error.ts'
import { doctor } from './doctor/doctor.ts'
import { fileError, isFileError } from './files.ts'
import { init } from './init/init.ts'
import { openapi } from './openapi/openapi.ts'
import { ownPackage } from './own-package.ts'
import { skills } from './skills/skills.ts'

const usage = `edgemcp ${ownPackage().version}: MCP servers on Cloudflare Workers

  npx edgemcp init [folder]      a new project
      --template <name>          hello, notes or protected
      --yes                      asks nothing

  npx edgemcp doctor [folder]    what is wrong with a project, and how to fix it
      --json                     for programs

  npx edgemcp openapi <document> the operations of an OpenAPI document, in JSON or YAML, as a module
      --out <file.ts>            where to write it; printed when left out

  npx edgemcp skills <folder>    a folder of skills, each with a SKILL.md, as a module
      --out <file.ts>            where to write it; printed when left out
`

const options = {
  template: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
  json: { type: 'boolean' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

type Values = { template?: string; yes?: boolean; json?: boolean; out?: string }

type Command = {
  /** What it is run on. */
  readonly on: string
  readonly options: readonly (keyof Values)[]
  run(folder: string | undefined, values: Values): Promise<number>
}

const commands: Readonly<Record<string, Command>> = {
  init: { on: 'folder', options: ['template', 'yes'], run: init },
  doctor: { on: 'folder', options: ['json'], run: doctor },
  openapi: { on: 'document', options: ['out'], run: openapi },
  skills: { on: 'folder', options: ['out'], run: skills },
}

/**
 * Runs one command.
 *
 * @param args as they were typed, without the program's own name
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    // `npm create` takes the -- before options away; npx and other package managers pass it on.
    const typed = args.filter((argument) => argument !== '--')
    const { values, positionals } = parseArgs({ args: typed, allowPositionals: true, options })
    const [name, folder, ...others] = positionals
    if (values.version) return print(ownPackage().version)
    if (values.help || name === undefined) return print(usage)
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (!command) throw new CliError(`There is no command "${name}": there are init, doctor, openapi and skills.`)
    if (others.length > 0) throw new CliError(`One ${command.on} at a time: "${others[0]}" is one too many.`)
    const foreign = Object.keys(values).find((option) => !(command.options as readonly string[]).includes(option))
    if (foreign) throw new CliError(`${name} has no option --${foreign}: see npx edgemcp --help.`)
    return await command.run(folder, values)
  } catch (thrown) {
    // An error of the file system that no command gave a better text.
    const problem =
      isFileError(thrown) && thrown.path !== undefined ? fileError('access', thrown.path, thrown.code) : thrown
    const isExpected = problem instanceof CliError || (problem as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
    if (!isExpected) throw problem
    console.error((problem as Error).message)
    return 1
  }
}

function print(text: string): number {
  console.log(text.trimEnd())
  return 0
}
