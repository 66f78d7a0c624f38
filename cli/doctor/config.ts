/**
 * The configuration of a project as wrangler reads it, and as text with proposed edits.
 *
 * `experimental_patchConfig` of wrangler formats the whole file, and refuses TOML with comments. So an edit is made in the text,
 * and wrangler's parser decides whether it is proposed: the edited text must read as intended.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readFile } from '../files.ts'
import { escapeRegExp, lineAt } from './code.ts'
import type { Change } from './finding.ts'

export type Migration = {
  readonly tag?: string
  readonly new_classes?: readonly string[]
  readonly new_sqlite_classes?: readonly string[]
  readonly renamed_classes?: readonly { from: string; to: string }[]
  readonly deleted_classes?: readonly string[]
  readonly transferred_classes?: readonly { to: string }[]
}

/** The members of wrangler's configuration that rules use. */
export type RawConfig = {
  readonly name?: string
  readonly main?: string
  readonly compatibility_date?: string
  readonly compatibility_flags?: readonly string[]
  readonly vars?: Readonly<Record<string, unknown>>
  readonly secrets?: { readonly required?: readonly string[] }
  readonly migrations?: readonly Migration[]
  readonly exports?: Readonly<Record<string, { type?: string; storage?: string; state?: string }>>
  readonly route?: Route
  readonly routes?: readonly Route[]
  readonly workers_dev?: boolean
  readonly assets?: { readonly directory?: string }
  readonly env?: Readonly<Record<string, RawConfig>>
}

export type Route = string | { readonly pattern: string; readonly custom_domain?: boolean }

export type Config = {
  /** Relative to the project's folder. */
  readonly file: string
  readonly text: string
  readonly isToml: boolean
  readonly raw: RawConfig
  /** @throws Error with the mistake in the text */
  readonly parse: (text: string) => RawConfig
}

/** In wrangler's order. */
export const configFiles = ['wrangler.json', 'wrangler.jsonc', 'wrangler.toml']

export const configFileIn = (folder: string): string | undefined =>
  configFiles.find((file) => existsSync(join(folder, file)))

export const configOf = (folder: string, file: string, raw: RawConfig, parse: Config['parse']): Config => ({
  file,
  text: readFile(join(folder, file)).toString(),
  isToml: file.endsWith('.toml'),
  raw,
  parse,
})

/** Returns a text with a change. */
export const applyChange = (text: string, { from, to }: Change): string =>
  from === undefined ? text + to : text.replace(from, () => to)

/** Returns the change if wrangler reads the changed text as intended. */
function checkChange(config: Config, change: Change, isIntended: (raw: RawConfig) => boolean): Change | undefined {
  try {
    return isIntended(config.parse(applyChange(config.text, change))) ? change : undefined
  } catch {
    return undefined
  }
}

/** Bindings without a local simulator, by the key of the configuration that declares them. */
const withoutSimulator = [
  'agent_memory',
  'ai',
  'ai_search',
  'ai_search_namespaces',
  'artifacts',
  'media',
  'vpc_networks',
  'vpc_services',
]

/** Names of the bindings for which wrangler needs an account also in development. */
export function remoteBindings(raw: RawConfig): string[] {
  return Object.entries(raw).flatMap(([key, declared]: [string, unknown]) => {
    const bindings = [declared].flat().filter((one) => typeof one === 'object' && one !== null) as {
      readonly binding?: unknown
      readonly name?: unknown
      readonly remote?: unknown
    }[]
    return bindings
      .filter(({ remote }) => remote === true || withoutSimulator.includes(key))
      .map(({ binding, name }) => binding ?? name)
      .filter((name) => typeof name === 'string')
  })
}

/** Returns the position of the first of these keys, or of texts between quotes, that the file has. */
export function lineOf({ text }: Config, ...names: readonly string[]): number | undefined {
  for (const name of names) {
    const match = new RegExp(
      `^[^\\n#]*?(?:"${escapeRegExp(name)}"|(?<![\\w-])${escapeRegExp(name)}\\s*=|\\[+${escapeRegExp(name)}\\])`,
      'm',
    ).exec(text)
    if (match) return lineAt(text, match.index)
  }
  return undefined
}

/** Sets a key of the top level. */
export function assigned(config: Config, key: keyof RawConfig, value: unknown): Change | undefined {
  const { text, isToml } = config
  const isIntended = (raw: RawConfig) => JSON.stringify(raw[key]) === JSON.stringify(value)
  const written = isToml ? `${key} = ${inToml(value)}` : `"${key}": ${JSON.stringify(value)}`
  const pattern = isToml
    ? `^${key}\\s*=\\s*(?:\\[[^\\]]*\\]|[^\\n]*)`
    : `"${key}"\\s*:\\s*(?:\\[[^\\]]*\\]|"[^"]*"|[\\w.]+)`
  const existing = new RegExp(pattern, 'm').exec(text)?.[0]
  // The key may belong to another table.
  const replaced = existing && checkChange(config, { from: existing, to: written }, isIntended)
  if (replaced) return replaced
  if (isToml) {
    const anchor = /^(?:main|name|compatibility_date)\s*=.*$/m.exec(text)?.[0]
    const change = anchor === undefined ? { to: `${written}\n` } : { from: anchor, to: `${anchor}\n${written}` }
    return checkChange(config, change, isIntended)
  }
  return checkChange(config, { from: '{', to: `{\n  ${written},` }, isIntended)
}

/** Removes a line that contains a variable only. */
export function removedVariable(config: Config, key: string): Change | undefined {
  const { text, isToml } = config
  const pattern = isToml ? `^${key}\\s*=.*\\n?` : `\\s*"${key}"\\s*:\\s*"[^"]*",?`
  const existing = new RegExp(pattern, 'm').exec(text)?.[0]
  if (existing === undefined) return undefined
  return checkChange(config, { from: existing, to: '' }, ({ vars = {} }) => !(key in vars))
}

/** Declares secrets as required for a deployment. */
export function requiredSecrets(config: Config, names: readonly string[]): Change | undefined {
  if (!config.isToml) return undefined
  const written = `required = ${inToml(names)}`
  return checkChange(
    config,
    { file: config.file, to: `\n[secrets]\n${written}\n` },
    ({ secrets }) => JSON.stringify(secrets?.required) === JSON.stringify(names),
  )
}

/** Returns an edit that adds a migration: those that have been deployed are never read again. */
export function migrated(config: Config, migration: Omit<Migration, 'tag'>): Change | undefined {
  const change = migrationChange(config, migration)
  const classes = Object.values(migration).flat() as string[]
  return checkChange(config, change, (raw) => {
    const last = Object.values(raw.migrations?.at(-1) ?? {}).flat()
    return classes.every((name) => (raw.exports ? name in raw.exports : last.includes(name)))
  })
}

function migrationChange(config: Config, migration: Omit<Migration, 'tag'>): Change {
  const { text, isToml, raw } = config
  const [[kind, classes] = ['new_sqlite_classes', []]] = Object.entries(migration) as [string, readonly string[]][]
  if (raw.exports) {
    const name = classes[0] as string
    if (isToml) return { to: `\n[exports.${name}]\ntype = "durable-object"\nstorage = "sqlite"\n` }
    return {
      from: '"exports": {',
      to: `"exports": {\n    "${name}": { "type": "durable-object", "storage": "sqlite" },`,
    }
  }
  const tag = nextTag(raw.migrations ?? [])
  if (isToml) return { to: `\n[[migrations]]\ntag = "${tag}"\n${kind} = ${inToml(classes)}\n` }
  const entry = `{ "tag": "${tag}", "${kind}": ${JSON.stringify(classes)} }`
  const array = arrayAt(text, 'migrations')
  if (!array) return { from: '{', to: `{\n  "migrations": [${entry}],` }
  return { from: array, to: `${array.slice(0, -1).trimEnd().replace(/,$/, '')}, ${entry}]` }
}

function nextTag(migrations: readonly Migration[]): string {
  const numbers = migrations.map(({ tag = '' }) => Number(/^v(\d+)$/.exec(tag)?.[1]))
  const highest = Math.max(0, ...numbers.filter(Number.isInteger))
  return `v${Math.max(highest, migrations.length) + 1}`
}

/** The text of an array in JSON with comments. */
function arrayAt(text: string, key: string): string | undefined {
  const opened = new RegExp(`"${key}"\\s*:\\s*\\[`).exec(text)
  if (!opened) return undefined
  const start = opened.index
  let depth = 0
  for (let at = start + opened[0].length - 1; at < text.length; at += 1) {
    if (text[at] === '[') depth += 1
    if (text[at] === ']') depth -= 1
    if (depth === 0) return text.slice(start, at + 1)
  }
  return undefined
}

const inToml = (value: unknown) => JSON.stringify(value).replaceAll('","', '", "')
