/** What the rules look at. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { isInside, readFile } from '../files.ts'
import { packageFolder } from '../own-package.ts'
import { lineAt, read, type Source } from './code.ts'
import type { Config } from './config.ts'
import { type Bundle, description, type Ran } from './wrangler.ts'

export type Project = {
  readonly folder: string
  readonly config: Config
  readonly bundle: Bundle
  /** The project's own part of the bundle. */
  readonly sources: readonly Source[]
  /** What the files with the secrets of this machine have, by name. */
  readonly local: ReadonlyMap<string, LocalValue>
  /** The servers of the Worker. */
  readonly servers: readonly Served[]
  /** Why the Worker does not start. */
  readonly broken: string | undefined
  /** The default export has no `fetch`, so that every request fails. */
  readonly lacksFetchHandler: boolean
}

export type LocalValue = { readonly value: string; readonly file: string; readonly line: number }

/** A server as it describes itself: see `worker/plugins/development/described.ts`. */
export type Served = {
  readonly name: string
  /** Names that it could give to classes of its own. */
  readonly ownClasses: Readonly<Record<string, string>>
  /** Default names of the Durable Object classes of its plugins. */
  readonly pluginClasses: readonly string[]
  readonly entries: readonly Entry[]
  readonly has: Readonly<Record<'auth' | 'limit' | 'subscriptions' | 'page' | 'tasks', boolean>>
  readonly path: string
  /** Limits that the class of states counts, such as `the quota "5/d" of rateLimit()`. */
  readonly needsState: readonly string[]
  readonly sessions: boolean
  /** `undefined`: nothing was said about them. */
  readonly origins?: readonly string[]
  readonly hosts: readonly string[]
  /** Of `durableObjects.names`: what classes are exported as, by their default names. */
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

export function projectOf(folder: string, config: Config, bundle: Bundle, ran: Ran): Project {
  return {
    folder,
    config,
    bundle,
    sources: sourcesOf(folder, bundle),
    local: new Map(localFiles.flatMap((file) => valuesIn(folder, file))),
    servers: ran.log
      .filter((line) => line.startsWith(description))
      .map((line) => JSON.parse(line.slice(description.length)) as Served),
    broken: ran.isUp || ran.lacksFetchHandler || ran.log.some(isOfClass) ? undefined : reasonIn(ran.log),
    lacksFetchHandler: ran.lacksFetchHandler,
  }
}

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

/** Packages are others' to mend, and this one is, too. */
function sourcesOf(folder: string, { inputs }: Bundle): Source[] {
  const own = packageFolder()
  return inputs
    .map(({ path }) => resolve(folder, path))
    .filter((path) => /\.[cm]?[jt]sx?$/.test(path) && existsSync(path) && !/[\\/]node_modules[\\/]/.test(path))
    .filter((path) => isInside(folder, path) || !isInside(own, path))
    .map((path) => read(relative(folder, path), readFile(path).toString()))
}

/** The module ran; what failed is that a class of the configuration is not among its exports, which the rules know better. */
const isOfClass = (line: string) => line.includes('createDurableObjectWrapper')

/** What the runtime said as it gave up: an error of the code, if it was one. */
function reasonIn(log: readonly string[]): string {
  for (const line of log) {
    const [, thrown] = /Uncaught (.*)/.exec(line) ?? []
    if (thrown) return thrown.replace(/^(?:Type|Reference|Syntax|Range)?Error: /, '')
  }
  return log.at(-1)?.split('\n')[0] ?? 'the runtime gave no reason'
}
