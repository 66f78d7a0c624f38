/** The input of the rules. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { Meta, Implementation as ServerInformation, ToolItem } from '../../worker/protocol/types.ts'
import { isInside, readFile } from '../files.ts'
import { packageFolder } from '../own-package.ts'
import { lineAt, read, type Source } from './code.ts'
import type { Config, RawConfig } from './config.ts'
import { type Bundle, description, type Pages, type Ran, type Vars } from './wrangler.ts'

export type Project = {
  readonly folder: string
  readonly config: Config
  readonly bundle: Bundle
  /** The sources of the project in the bundle. */
  readonly sources: readonly Source[]
  /** The secrets of this machine, from .dev.vars and .env, by name. */
  readonly local: ReadonlyMap<string, LocalValue>
  /** The servers of the Worker. */
  readonly servers: readonly Served[]
  /** Responses of the Worker to GET, by URL, for the URLs that were requested. */
  readonly pages: Pages
  /** The Worker starts and answers requests. */
  readonly runs: boolean
  /** The error with which the Worker fails to start. */
  readonly broken: string | undefined
  /** The default export has no `fetch`, so that every request fails. */
  readonly lacksFetchHandler: boolean
  /** The error with which every request fails, for another reason. */
  readonly failure: string | undefined
}

export type LocalValue = { readonly value: string; readonly file: string; readonly line: number }

/** The description of a server: see `worker/plugins/development/described.ts`. */
export type Served = {
  readonly name: string
  /** What `createServer()` says besides the name. */
  readonly info: Omit<ServerInformation, 'name'>
  /** The tools that a caller with all scopes gets from `tools/list`. */
  readonly tools: readonly ToolItem[]
  /** Documents of apps. */
  readonly apps: readonly { readonly uri: string; readonly _meta?: Meta }[]
  /** Names of extensions. */
  readonly extensions: readonly string[]
  /** Default names of the Durable Object classes of its plugins. */
  readonly pluginClasses: readonly string[]
  readonly entries: readonly Entry[]
  readonly has: Readonly<Record<'auth' | 'limit' | 'subscriptions' | 'page' | 'tasks', boolean>>
  /** With `{tenant}` if its tenants have paths. */
  readonly path: string
  /** Limits that the class of states counts, such as `the quota "5/d" of rateLimit()`. */
  readonly needsState: readonly string[]
  readonly sessions: boolean
  /** `undefined`: the server did not report them. */
  readonly origins?: readonly string[]
  readonly hosts: readonly string[]
  /** `durableObjects.names`: the export names of classes, by their default names. */
  readonly names: Readonly<Record<string, string>>
}

export type Entry = {
  readonly kind: 'tool' | 'resource' | 'prompt'
  readonly name: string
  readonly scopes?: readonly string[]
  readonly canBeDisabled: boolean
  readonly isLimited: boolean
  readonly isTask: boolean
}

/** Messages of the platform, and of edgemcp when the server itself is the default export. */
const noFetch = /does not export a fetch\(\) function|edgemcp has no server\.fetch|\.fetch is not a function/
/** The message of workerd for a module without a default export. */
const noDefaultExport = /ExportedHandler\w* with required members from an undefined/

export function projectOf(folder: string, config: Config, bundle: Bundle, ran: Ran): Project {
  const lacksFetchHandler =
    noFetch.test(ran.failure ?? '') || (!ran.isUp && ran.log.some((line) => noDefaultExport.test(line)))
  return {
    folder,
    config,
    bundle,
    sources: sourcesOf(folder, bundle),
    local: new Map(localFiles.flatMap((file) => valuesIn(folder, file))),
    servers: servedIn(ran.log),
    pages: ran.pages ?? {},
    runs: ran.isUp && ran.failure === undefined,
    broken: ran.isUp || lacksFetchHandler || ran.log.some(isOfClass) ? undefined : reasonIn(ran.log),
    lacksFetchHandler,
    failure: lacksFetchHandler ? undefined : ran.failure,
  }
}

/** The servers that describe themselves in a log. */
export const servedIn = (log: readonly string[]): Served[] =>
  log.filter((line) => line.startsWith(description)).map((line) => JSON.parse(line.slice(description.length)) as Served)

export const localFiles = ['.dev.vars', '.env', '.env.local']

function valuesIn(folder: string, file: string): [name: string, LocalValue][] {
  const path = join(folder, file)
  const text = existsSync(path) ? readFile(path).toString() : ''
  return [...text.matchAll(/^[^\S\n]*(?:export\s+)?([\w.]+)[^\S\n]*=[^\S\n]*(.*)$/gm)].map(
    ({ index, 1: name = '', 2: written = '' }) => {
      const [, , quoted] = /^(["'`])(.*?)\1/.exec(written) ?? []
      const value = quoted ?? written.replace(/#.*$/, '').trim()
      return [name, { value, file, line: lineAt(text, index) }]
    },
  )
}

/** The line of a public key has the form that each option of edgemcp accepts, the proofs of `discovery()` included. */
const placeholder = `v=MCPv1;k=ed25519;p=${'A'.repeat(43)}=`

/** Returns values for the secrets that the deployed Worker must have, and this machine does not. */
export function placeholders(folder: string, { secrets }: RawConfig): Vars {
  const local = new Set(localFiles.flatMap((file) => valuesIn(folder, file)).map(([name]) => name))
  const missing = (secrets?.required ?? []).filter((name) => !local.has(name) && name !== 'EDGEMCP_KEYS')
  return Object.fromEntries(missing.map((name) => [name, placeholder]))
}

/** Excludes packages, this one included, because a project cannot fix them. */
function sourcesOf(folder: string, { inputs }: Bundle): Source[] {
  const own = packageFolder()
  return inputs
    .map(({ path }) => resolve(folder, path))
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && existsSync(path) && !/[\\/]node_modules[\\/]/.test(path))
    .filter((path) => isInside(folder, path) || !isInside(own, path))
    .map((path) => read(relative(folder, path), readFile(path).toString()))
}

/** The error for a configured class that is not exported, which the rules for classes report in more detail. */
const isOfClass = (line: string) => line.includes('createDurableObjectWrapper')

/** The error of the code that the runtime reported when it stopped, if there was one. */
function reasonIn(log: readonly string[]): string {
  for (const line of log) {
    const [, thrown] = /Uncaught (.*)/.exec(line) ?? []
    if (thrown) return thrown.replace(/^(?:Type|Reference|Syntax|Range)?Error: /, '')
  }
  return log.at(-1)?.split('\n')[0] ?? 'the runtime gave no reason'
}
