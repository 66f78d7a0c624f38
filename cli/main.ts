/** The command line: selects the command, and parses its arguments. */
import { parseArgs } from 'node:util'
import { CliError, printable } from './cli-error.ts'
import { doctor } from './doctor/doctor.ts'
import { events } from './events/events.ts'
import { fileError, isFileError } from './files.ts'
import { init } from './init/init.ts'
import { openapi } from './openapi/openapi.ts'
import { ownPackage } from './own-package.ts'
import { skills } from './skills/skills.ts'
import { submit } from './submit/submit.ts'

const usage = `edgemcp ${ownPackage().version}: MCP servers on Cloudflare Workers

  npx edgemcp init [folder]      create a project
      --template <name>          hello, notes, team, sign-in, gateway, jobs or events
      --yes                      use defaults instead of questions

  npx edgemcp doctor [folder]    check a project, and print how to fix it
      --json                     print JSON

  npx edgemcp openapi <document> generate a module from an OpenAPI document (JSON or YAML)
      --out <file.ts>            the file to write; default: standard output
      --include <pattern>        names of the tools to write, such as 'list*'; may be repeated; default: all
      --exclude <pattern>        names of the tools to leave out; may be repeated

  npx edgemcp skills <folder>    generate a module from a folder of skills, each with a SKILL.md
      --out <file.ts>            the file to write; default: standard output

  npx edgemcp submit <directory> [folder]
                                 check a project with the rules of anthropic, openai,
                                 registry or microsoft, and write the files for it
      --out <folder>             where to write; default: submission/<directory> in the project
      --url <url>                the URL of the endpoint; default: that of discovery() or of a route
      --name <name>              the name in the MCP Registry; default: that of discovery()
      --server <name>            the server to submit, if the project has several
      --tools <file.json>        check the result of tools/list instead of a project, and write nothing
      --json                     print JSON

  npx edgemcp events             list the subscriptions, attempts and dead letters of a server that runs on this machine
  npx edgemcp events redeliver <id>
                                 send an event again to the subscriptions that refused it
      --url <url>                the server, or its inspector link; default: http://127.0.0.1:8787
      --json                     print JSON
`

const options = {
  template: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
  json: { type: 'boolean' },
  out: { type: 'string' },
  include: { type: 'string', multiple: true },
  exclude: { type: 'string', multiple: true },
  name: { type: 'string' },
  server: { type: 'string' },
  tools: { type: 'string' },
  url: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

type Values = {
  template?: string
  yes?: boolean
  json?: boolean
  out?: string
  include?: string[]
  exclude?: string[]
  name?: string
  server?: string
  tools?: string
  url?: string
}

type Command = {
  /** What the command takes, for errors. */
  readonly takes: string
  /** The most arguments. Default: 1. */
  readonly most?: number
  readonly options: readonly (keyof Values)[]
  run(first: string | undefined, values: Values, second: string | undefined): Promise<number>
}

const commands: Readonly<Record<string, Command>> = {
  init: { takes: 'one folder', options: ['template', 'yes'], run: init },
  doctor: { takes: 'one folder', options: ['json'], run: doctor },
  openapi: { takes: 'one document', options: ['out', 'include', 'exclude'], run: openapi },
  skills: { takes: 'one folder', options: ['out'], run: skills },
  submit: {
    takes: 'a directory and a folder',
    most: 2,
    options: ['json', 'name', 'out', 'server', 'tools', 'url'],
    run: submit,
  },
  events: { takes: '"redeliver" and an id', most: 2, options: ['json', 'url'], run: events },
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
    const [name, ...params] = positionals
    if (values.version) return print(ownPackage().version)
    if (values.help || name === undefined) return print(usage)
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (!command) throw new CliError(`Unknown command "${name}": use init, doctor, openapi, skills, submit or events.`)
    const unexpected = params[command.most ?? 1]
    if (unexpected !== undefined) throw new CliError(`Give ${command.takes}: "${unexpected}" is unexpected.`)
    const foreign = Object.keys(values).find((option) => !(command.options as readonly string[]).includes(option))
    if (foreign) throw new CliError(`${name} has no option --${foreign}: run npx edgemcp --help.`)
    return await command.run(params[0], values, params[1])
  } catch (thrown) {
    // An error of the file system that no command handled.
    const problem =
      isFileError(thrown) && thrown.path !== undefined ? fileError('access', thrown.path, thrown.code) : thrown
    const isExpected = problem instanceof CliError || (problem as { code?: string }).code?.startsWith('ERR_PARSE_ARGS')
    if (!isExpected) throw problem
    console.error(printable((problem as Error).message))
    return 1
  }
}

function print(text: string): number {
  console.log(text.trimEnd())
  return 0
}
