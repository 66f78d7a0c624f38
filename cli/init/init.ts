/** `edgemcp init`: creates a project in an empty folder. */
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import { withPath, writeFile } from '../files.ts'
import { ask, choose } from './ask.ts'
import { filesOf, isTemplate, templates } from './template.ts'

export type InitOptions = { template?: string | undefined; yes?: boolean | undefined }

/**
 * Writes a project. Asks for missing values at a terminal. Elsewhere, and with `yes`, uses `my-mcp-server` and `hello`.
 *
 * @throws CliError for an unknown template, or for a folder that is not empty
 */
export async function init(given: string | undefined, { template: uri, yes }: InitOptions): Promise<number> {
  if (uri !== undefined && !isTemplate(uri)) {
    throw new CliError(`Unknown template "${uri}": use one of ${Object.keys(templates).join(', ')}.`)
  }
  const asks = !yes && process.stdin.isTTY && process.stdout.isTTY
  const named = given ?? (asks ? await ask('Folder', 'my-mcp-server') : 'my-mcp-server')
  const folder = resolve(named)
  checkEmpty(folder, named)
  const template = uri ?? (asks ? await choose('Template', templates) : 'hello')
  withPath('create the folder', named, () => mkdirSync(folder, { recursive: true }))
  for (const [path, text] of filesOf(template, nameOf(folder))) {
    // Never overwrites a file, even if the folder changed after the check.
    writeFile(join(folder, path), text, 'wx')
  }
  console.log(nextSteps(folder, template))
  return 0
}

function checkEmpty(folder: string, named: string): void {
  if (!existsSync(folder)) {
    let parent = dirname(folder)
    while (!existsSync(parent)) parent = dirname(parent)
    if (statSync(parent).isDirectory()) return
    throw new CliError(`${relative('.', parent)} is a file, so ${named} cannot be inside it: choose another folder.`)
  }
  if (!statSync(folder).isDirectory()) throw new CliError(`${named} is a file: choose another name for the folder.`)
  const [first] = withPath('read', named, () => readdirSync(folder)).filter((name) => name !== '.git')
  if (first === undefined) return
  throw new CliError(
    `${named} is not empty (${first}), and init overwrites nothing: ` +
      'choose a new folder, as in npx edgemcp init my-mcp-server, or empty this one first.',
  )
}

/** The name of a Worker, which becomes part of its URL. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 54)
    .replace(/^-+|-+$/g, '')
  return name || 'my-mcp-server'
}

function nextSteps(folder: string, template: string): string {
  const path = relative('.', folder)
  const steps = [
    ...(path ? [`cd ${/\s/.test(path) ? `"${path}"` : path}`] : []),
    'npm install',
    'npm test',
    'npm run dev',
  ]
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  // wrangler requires 22.0, vitest 22.12.
  const isOld = major < 22 || (major === 22 && minor < 12)
  return [
    `Created ${basename(folder)} from the template ${template}. Next:\n`,
    ...steps.map((step) => `  ${step}`),
    ...(isOld ? [`\nwrangler and vitest need Node.js 22.12 or newer; this is Node.js ${process.versions.node}.`] : []),
  ].join('\n')
}
