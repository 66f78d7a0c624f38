/** The command line: selects the command, and parses its arguments. */
import { parseArgs } from 'node:util'
import { CliError } from './cli-error.ts'
import { doctor } from './doctor/doctor.ts'
import { fileError, isFileError } from './files.ts'
import { init } from './init/init.ts'
import { openapi } from './openapi/openapi.ts'
import { ownPackage } from './own-package.ts'
import { skills } from './skills/skills.ts'

const usage = `edgemcp ${ownPackage().version}: MCP servers on Cloudflare Workers

  npx edgemcp init [folder]      create a project
      --template <name>          hello, notes, team, sign-in, gateway or jobs
      --yes                      use defaults instead of questions

  npx edgemcp doctor [folder]    check a project, and print how to fix it
      --json                     print JSON

  npx edgemcp openapi <document> generate a module from an OpenAPI document (JSON or YAML)
      --out <file.ts>            the file to write; default: standard output
      --include <pattern>        names of the tools to write, such as 'list*'; may be repeated; default: all
      --exclude <pattern>        names of the tools to leave out; may be repeated

  npx edgemcp skills <folder>    generate a module from a folder of skills, each with a SKILL.md
      --out <file.ts>            the file to write; default: standard output
`

const options = {
  template: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
  json: { type: 'boolean' },
  out: { type: 'string' },
  include: { type: 'string', multiple: true },
  exclude: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

type Values = { template?: string; yes?: boolean; json?: boolean; out?: string; include?: string[]; exclude?: string[] }

type Command = {
  /** The argument of the command, for the help text. */
  readonly on: string
  readonly options: readonly (keyof Values)[]
  run(folder: string | undefined, values: Values): Promise<number>
}

const commands: Readonly<Record<string, Command>> = {
  init: { on: 'folder', options: ['template', 'yes'], run: init },
  doctor: { on: 'folder', options: ['json'], run: doctor },
  openapi: { on: 'document', options: ['out', 'include', 'exclude'], run: openapi },
  skills: { on: 'folder', options: ['out'], run: skills },
}

/**
 * Runs one command.
 *
 * @param args as typed, without the name of the program
 * @returns the exit code
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    // `npm create` removes the -- before options; npx and other package managers pass it on.
    const typed = args.filter((argument) => argument !== '--')
    const { values, positionals } = parseArgs({ args: typed, allowPositionals: true, options })
    const [name, folder, ...others] = positionals
    if (values.version) return print(ownPackage().version)
    if (values.help || name === undefined) return print(usage)
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (!command) throw new CliError(`Unknown command "${name}": use init, doctor, openapi or skills.`)
    if (others.length > 0) throw new CliError(`Give one ${command.on}: "${others[0]}" is unexpected.`)
    const foreign = Object.keys(values).find((option) => !(command.options as readonly string[]).includes(option))
    if (foreign) throw new CliError(`${name} has no option --${foreign}: run npx edgemcp --help.`)
    return await command.run(folder, values)
  } catch (thrown) {
    // An error of the file system that no command handled.
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
