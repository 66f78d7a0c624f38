/** Durable Object classes: the exported, the configured and the required ones. */
import { find, findAll, type Place } from '../code.ts'
import { type Config, lineOf, migrated } from '../config.ts'
import type { Change, Finding } from '../finding.ts'
import type { Project } from '../project.ts'

export function classes(project: Project): Finding[] {
  const { config, bundle, sources } = project
  const declared = declaredIn(config)
  const needed = neededBy(project)
  const ownNames = findAll(sources, /\bexport\s+class\s+([\w$]+)\s+extends\s+(?:[\w$]+\.)?DurableObject\b/).map(
    ({ match }) => match[1] as string,
  )
  const findings: Finding[] = []
  const changes = new Set<string>()
  /** A line that exports several classes is added once. */
  const once = (change: Change | undefined): Change | undefined => {
    const text = JSON.stringify(change)
    if (changes.has(text)) return undefined
    changes.add(text)
    return change
  }

  for (const [name, { why, fix, place, change }] of needed) {
    if (bundle.exports.includes(name)) continue
    const wrong = bundle.exports.find((other) => isLike(other, name))
    const written = wrong === undefined ? undefined : find(sources, new RegExp(`\\b${wrong}\\b`))
    findings.push({
      rule: 'class-not-exported',
      level: 'error',
      file: written?.file ?? place?.file ?? config.raw.main ?? config.file,
      line: written?.line ?? place?.line,
      problem: `${why}, and the Worker exports no ${name}${wrong ? `, but ${wrong}` : ''}.`,
      fix: wrong ? `Write ${name}.` : fix,
      change: wrong ? { from: wrong, to: name } : once(change),
    })
  }
  for (const name of declared.all) {
    if (bundle.exports.includes(name) || needed.has(name)) continue
    const meant = [...needed.keys(), ...bundle.exports].find((other) => isLike(other, name) && !declared.all.has(other))
    findings.push({
      rule: 'class-missing',
      level: 'error',
      file: config.file,
      line: lineOf(config, name),
      problem: `${config.file} declares the class ${name}, but the Worker does not export it.`,
      fix: meant
        ? `Write ${meant}, if this class was never deployed.`
        : `Export the class, or remove the declaration; if the class was deployed, add a migration with deleted_classes = ["${name}"].`,
      change: meant ? { from: `"${name}"`, to: `"${meant}"` } : undefined,
    })
  }
  const undeclared = [...new Set([...needed.keys(), ...ownNames])].filter(
    (name) =>
      !declared.all.has(name) &&
      // A misspelled declaration of this name is reported above.
      ![...declared.all].some((other) => isLike(other, name) && !bundle.exports.includes(other)),
  )
  for (const [index, name] of undeclared.entries()) {
    // One migration for all of them: two would have the same tag.
    const isFirst = index === 0 || config.raw.exports !== undefined
    const together = config.raw.exports ? [name] : undeclared
    findings.push({
      rule: 'class-not-declared',
      level: 'error',
      file: config.file,
      line: lineOf(config, 'migrations', 'exports'),
      problem: `${config.file} does not declare the Durable Object class ${name}.`,
      fix: isFirst
        ? 'Declare it in a new migration: Cloudflare applies each migration once.'
        : `Declare it in the same new migration as ${undeclared[0]}.`,
      change: isFirst ? migrated(config, { new_sqlite_classes: together }) : undefined,
    })
  }
  for (const name of declared.withoutSql) {
    if (!needed.has(name)) continue
    findings.push({
      rule: 'class-without-sqlite',
      level: 'error',
      file: config.file,
      line: lineOf(config, 'new_classes'),
      problem: `${name} needs SQLite, which new_classes does not provide.`,
      fix: 'Write new_sqlite_classes. If the class was deployed, delete it in a migration first: a deployed class cannot change its storage.',
      change: config.isToml
        ? { from: 'new_classes', to: 'new_sqlite_classes' }
        : { from: '"new_classes"', to: '"new_sqlite_classes"' },
    })
  }
  return [...findings, ...twice(config)]
}

type Need = { why: string; fix: string; place?: Place | undefined; change?: Change | undefined }

/** The purpose of the classes of plugins. */
const reasons: Readonly<Record<string, string>> = {
  McpSession: 'A Durable Object stores each session and its streams',
  McpApiKeys: 'Durable Objects store the hashes of API keys',
  McpEvents: 'Durable Objects store the subscriptions to events',
  McpSignIn: 'Durable Objects store the grants of signIn(), and its clients',
  McpSubscriptions: 'Durable Objects store the subscriptions',
  McpTask: 'A Durable Object stores each task',
}

/** Classes by name, with their purpose. */
function neededBy({ servers, sources, config, bundle }: Project): Map<string, Need> {
  const needed = new Map<string, Need>()
  const serve = find(sources, /\b(?:const|let)\s+([\w$]+)\s*=\s*serve\s*\(/)
  for (const { names, pluginClasses } of servers) {
    const whys: Record<string, string> = Object.fromEntries(
      pluginClasses.map((name) => [name, reasons[name] ?? 'A plugin uses Durable Objects of this class']),
    )
    const classNames = Object.keys(whys).map((name) => names[name] ?? name)
    const missing = classNames.filter((name) => !bundle.exports.includes(name))
    const exported = `export const { ${missing.join(', ')} } = ${serve?.match[1] ?? 'worker'}`
    // With another name, it is exported differently.
    const isUsual = Object.keys(names).length === 0
    for (const [name, why] of Object.entries(whys)) {
      const option = name !== 'McpSession' ? '' : ' Or remove sessions() from the plugins of serve().'
      needed.set(names[name] ?? name, {
        why,
        fix: isUsual
          ? `Add: ${exported}.${option}`
          : `Export ${Object.keys(whys).join(' and ')} of the result of serve() under the names of its durableObjects.`,
        place: serve,
        change: isUsual && serve?.file === config.raw.main ? { to: `\n${exported}\n` } : undefined,
      })
    }
  }
  for (const { names, needsState } of servers) {
    if (needsState.length === 0) continue
    const counted = `${needsState.slice(0, 5).join(', ')}${needsState.length > 5 ? ' and others' : ''}`
    const place = find(sources, /\brateLimit\s*\(/)
    needStates(names.McpState ?? 'McpState', `An object counts ${counted}`, place ?? serve)
  }
  const state = findAll(
    sources,
    /^\s*import\s*\{[^}]*\bstate\b(?:\s+as\s+([\w$]+))?[^}]*\}\s*from\s*['"]edgemcp\/state['"]/gm,
    'code',
  ).find(({ file, match }) => {
    const source = sources.find(({ path }) => path === file)
    return source && new RegExp(`(?<![\\w$.])${match[1] ?? 'state'}\\s*(?:<[^()]*>)?\\(`).test(source.bare)
  })
  if (state) {
    const name = servers.find(({ names }) => names.McpState)?.names.McpState ?? 'McpState'
    needStates(name, 'State is kept by an object', state)
  }
  return needed

  function needStates(name: string, why: string, place: Place | undefined): void {
    const exported = name === 'McpState' ? 'McpState' : `McpState as ${name}`
    needed.set(name, {
      why,
      fix: `Add: export { ${exported} } from 'edgemcp/state'`,
      place,
      change: place?.file === config.raw.main ? { to: `\nexport { ${exported} } from 'edgemcp/state'\n` } : undefined,
    })
  }
}

/** The classes that exist after all migrations, in order. */
function declaredIn({ raw }: Config): { all: Set<string>; withoutSql: Set<string> } {
  const all = new Set<string>()
  const withoutSql = new Set<string>()
  for (const [name, { type, storage, state }] of Object.entries(raw.exports ?? {})) {
    if (type !== 'durable-object' || state === 'deleted') continue
    all.add(name)
    if (storage && storage !== 'sqlite') withoutSql.add(name)
  }
  for (const migration of raw.migrations ?? []) {
    for (const name of migration.new_sqlite_classes ?? []) all.add(name)
    for (const { to } of migration.transferred_classes ?? []) all.add(to)
    for (const name of migration.new_classes ?? []) {
      all.add(name)
      withoutSql.add(name)
    }
    for (const { from, to } of migration.renamed_classes ?? []) {
      if (withoutSql.delete(from)) withoutSql.add(to)
      all.delete(from)
      all.add(to)
    }
    for (const name of migration.deleted_classes ?? []) {
      all.delete(name)
      withoutSql.delete(name)
    }
  }
  return { all, withoutSql }
}

function twice(config: Config): Finding[] {
  const tags = (config.raw.migrations ?? []).map(({ tag }) => tag)
  const tag = tags.find((tag, index) => tag !== undefined && tags.indexOf(tag) !== index)
  if (tag === undefined) return []
  const last = config.text.lastIndexOf(`"${tag}"`)
  return [
    {
      rule: 'migration-twice',
      level: 'error',
      file: config.file,
      line: config.text.slice(0, last).split('\n').length,
      problem: `Two migrations have the tag "${tag}": the second is never applied.`,
      fix: `Give the second its own tag, such as "v${tags.length}".`,
    },
  ]
}

/** Do these names differ by one typing mistake? */
function isLike(one: string, other: string): boolean {
  if (one === other) return false
  if (one.toLowerCase() === other.toLowerCase()) return true
  return distance(one, other) <= 2 && Math.min(one.length, other.length) > 5
}

/** The number of characters to add, remove or change. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1
      next[j] = Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, (row[j - 1] as number) + same)
    }
    row = next
  }
  return row[other.length] as number
}
