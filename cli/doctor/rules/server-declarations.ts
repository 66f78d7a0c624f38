/** Compares what a server declares with the options of serve(). */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isLoopback } from '../../../worker/protocol/loopback.ts'
import { escapeRegExp, find, type Place, type Source } from '../code.ts'
import { assigned, lineOf } from '../config.ts'
import type { Finding } from '../finding.ts'
import type { Entry, Project, Served } from '../project.ts'
import { tested } from './platform.ts'

export function declared(project: Project): Finding[] {
  const { config, sources, servers, broken, bundle } = project
  const main = config.raw.main ?? config.file
  const [, stray] = /Incorrect type for map entry '([^']+)'/.exec(broken ?? '') ?? []
  if (stray !== undefined) {
    const place = find(sources, new RegExp(`\\bexport\\b[^;\\n]*\\b${stray}\\b`))
    return [
      {
        rule: 'stray-export',
        level: 'error',
        file: place?.file ?? main,
        line: place?.line,
        problem: `The Worker does not start: its main module may export only functions, classes and handlers, and ${stray} is none of these.`,
        fix: `Do not export ${stray} from ${main}: move it to another module.`,
      },
    ]
  }
  const [, future] = /Compatibility date "([\d-]+)" is in the future/.exec(broken ?? '') ?? []
  if (future !== undefined) {
    return [
      {
        rule: 'compatibility-date',
        level: 'error',
        file: config.file,
        line: lineOf(config, 'compatibility_date'),
        problem: `The Worker does not start: the compatibility date ${future} is later than the wrangler of this project knows.`,
        fix: `Set the compatibility date to ${tested}, or update wrangler.`,
        change: assigned(config, 'compatibility_date', tested),
      },
    ]
  }
  if (broken !== undefined) {
    const [, quoted = ''] = /"([^"]+)"/.exec(broken) ?? []
    const place = quoted ? placeOf(sources, { name: quoted }) : undefined
    return [
      {
        rule: 'does-not-start',
        level: 'error',
        file: place?.file ?? main,
        line: place?.line,
        problem: `The Worker does not start: ${broken}`,
        fix: 'Fix this error; npx wrangler dev shows its stack.',
      },
    ]
  }
  if (project.lacksFetchHandler) return [withoutFetchHandler(project)]
  if (project.failure !== undefined) {
    const place = find(sources, /\bexport\s+default\b/)
    return [
      {
        rule: 'requests-fail',
        level: 'error',
        file: place?.file ?? main,
        line: place?.line,
        problem: `The Worker starts, but a request to it fails: ${project.failure}`,
        fix: 'Fix this error; npx wrangler dev shows its stack.',
      },
    ]
  }
  if (servers.length === 0 && bundle.exports.length > 0) {
    const place = find(sources, /\bserve\s*\(/)
    return [
      {
        rule: 'serve-not-at-top-level',
        level: 'error',
        file: place?.file ?? main,
        line: place?.line,
        problem: place
          ? 'The Worker does not call serve() at startup, so its Durable Objects have no server.'
          : 'This Worker does not call serve() of edgemcp.',
        fix: 'Write const worker = serve(server) at the top level of a module, and export default worker.',
      },
    ]
  }
  return servers.flatMap((server) => [
    ...guards(project, server),
    ...features(project, server),
    ...addresses(project, server),
  ])
}

/** The default export of the Worker cannot take requests. */
function withoutFetchHandler({ config, sources, bundle }: Project): Finding {
  const main = config.raw.main ?? config.file
  const entry = sources.filter(({ path }) => path === main)
  const served = find(sources, /\b(?:const|let)\s+([\w$]+)\s*=\s*serve\s*\(/)
  const exported = find(entry, /\bexport\s+default\s+(\{[^{}]*\}|[\w$]+)/)
  const place = exported ?? find(entry, /\bexport\s+default\b/) ?? served
  const worker = served?.file === main ? served.match[1] : undefined
  const hasDefault = bundle.exports.includes('default')
  return {
    rule: 'no-fetch-handler',
    level: 'error',
    file: place?.file ?? main,
    line: place?.line,
    problem: hasDefault
      ? `The default export${exported ? `, ${exported.match[1]},` : ''} has no fetch handler: every request fails with status 500.`
      : `${main} has no default export, so the Worker does not start.`,
    fix: worker
      ? `Write export default ${worker}: serve() returns the handler.`
      : `Write export default serve(${/^\w+$/.exec(exported?.match[1] ?? '') ?? 'server'}): serve() returns the handler.`,
    change: worker
      ? exported
        ? { from: exported.match[0], to: `export default ${worker}` }
        : hasDefault
          ? undefined
          : { file: main, to: `\nexport default ${worker}\n` }
      : undefined,
  }
}

function guards({ sources }: Project, { entries, has }: Served): Finding[] {
  const findings: Finding[] = []
  const about = (entry: Entry) => ({ level: 'error' as const, ...locate(sources, entry) })
  const scoped = entries.filter(({ scopes = [] }) => scopes.length > 0)
  const [first] = scoped
  if (!has.auth && first) {
    findings.push({
      rule: 'scopes-without-auth',
      ...about(first),
      problem: `${list(scoped)} ${are(scoped)} refused to every caller: serve() has no auth to check the scopes.`,
      fix: "Add auth: serve(server, { auth: bearer({ issuer: 'https://auth.example.com' }) }), of edgemcp/auth.",
    })
  }
  if (has.auth) {
    const unscoped = entries.filter(({ scopes }) => scopes === undefined)
    if (unscoped[0]) {
      findings.push({
        rule: 'unscoped',
        ...about(unscoped[0]),
        level: 'hint',
        problem: `${list(unscoped)} ${unscoped.length === 1 ? 'declares' : 'declare'} no scopes: any valid token gives access.`,
        fix: "Write the required scopes, as in scopes: ['notes:read'], or scopes: [] if any token is enough.",
      })
    }
  }
  const limited = entries.filter(({ isLimited }) => isLimited)
  if (!has.limit && limited[0]) {
    findings.push({
      rule: 'limit-without-limiter',
      ...about(limited[0]),
      problem: `No limiter enforces the limit of ${list(limited)}.`,
      fix: 'Add a limiter: serve(server, { plugins: [rateLimit()] }), of edgemcp/rate-limit.',
    })
  }
  return findings
}

function features({ sources, folder, config, servers }: Project, { entries, has }: Served): Finding[] {
  const findings: Finding[] = []
  const tasks = entries.filter(({ isTask }) => isTask)
  if (!has.tasks && tasks[0]) {
    findings.push({
      rule: 'task-without-tasks',
      level: 'error',
      ...locate(sources, tasks[0]),
      problem: `${list(tasks)} ${are(tasks)} to run as a task, and serve() has no tasks().`,
      fix: 'Add tasks() of edgemcp/tasks to the plugins of serve(), and export and declare its class McpTask.',
    })
  }
  const switchable = entries.find(({ canBeDisabled }) => canBeDisabled)
  const announced =
    find(sources, /\.updated\s*\(|\.notify\s*\.\s*(?:(?:tools|prompts|resources)Changed|resourceUpdated)\s*\(/) ??
    (switchable && locate(sources, switchable))
  const serve = find(sources, /\bserve\(\s*([\w$]+)\s*\)/)
  // With several servers, it may belong to the one that has them.
  if (announced && !servers.some((server) => server.has.subscriptions)) {
    findings.push({
      rule: 'notify-without-subscriptions',
      level: 'error',
      file: announced.file,
      line: announced.line,
      problem: 'Change notifications are disabled, because serve() has no subscriptions(): this throws.',
      fix: "Write serve(server, { plugins: [subscriptions()] }), with import { subscriptions } from 'edgemcp/subscriptions'.",
      ...(serve?.file === announced.file && {
        change: {
          from: serve.match[0],
          to: `serve(${serve.match[1]}, { plugins: [subscriptions()] })`,
        },
      }),
    })
  }
  const index = config.raw.assets?.directory && join(config.raw.assets.directory, 'index.html')
  if (has.page && index && existsSync(join(folder, index))) {
    findings.push({
      rule: 'page-hidden',
      level: 'hint',
      file: config.file,
      line: lineOf(config, 'assets'),
      problem: `Cloudflare serves ${index}, so the page of this server is never shown.`,
      fix: 'Remove the plugin page(), or that file.',
    })
  }
  return findings
}

/** The URL of the server, and the origins and hosts that may call it. */
function addresses({ sources, config }: Project, { has, origins, hosts, path }: Served): Finding[] {
  const findings: Finding[] = []
  const serve = find(sources, /\bserve\s*\(/)
  const location = { file: serve?.file ?? config.file, line: serve?.line }
  if (has.auth && origins === undefined) {
    findings.push({
      rule: 'origins',
      level: 'hint',
      ...location,
      problem:
        'The server refuses pages of other origins, and so clients in browsers; origins does not say whether this is intended.',
      fix: "List them: serve(server, { origins: ['https://app.example.com'] }), or write origins: [] if there are none.",
    })
  }
  const local = (origins ?? []).find((origin) => isLoopback(URL.parse(origin)?.hostname ?? ''))
  if (local !== undefined) {
    const place = find(sources, new RegExp(`['"\`]${escapeRegExp(local)}['"\`]`), 'code')
    findings.push({
      rule: 'local-origin',
      level: 'hint',
      file: place?.file ?? location.file,
      line: place?.line ?? location.line,
      problem: `The deployed server accepts calls from any page at ${local} on each user's own machine.`,
      fix: 'Remove it: in development, pages on localhost may call the server without it.',
    })
  }
  const { routes = [], route, workers_dev } = config.raw
  const name = config.raw.name?.replaceAll('_', '-')
  const patterns = [...routes, ...(route ? [route] : [])].map((one) =>
    typeof one === 'string' ? { pattern: one } : one,
  )
  const names = patterns.map(({ pattern }) => pattern.replace(/^https?:\/\//, '').split('/')[0] as string)
  if (hosts.length > 0 && !hosts.includes('localhost')) {
    const refused = names.filter((host) => !host.includes('*') && !hosts.includes(host))
    const foreign = hosts.filter((host) => host.endsWith('.workers.dev') && !host.startsWith(`${name}.`))
    if (foreign[0] !== undefined && workers_dev !== false)
      refused.push(`${name}.${foreign[0].split('.').slice(1).join('.')}`)
    if (refused[0] !== undefined) {
      findings.push({
        rule: 'hosts',
        level: 'error',
        ...location,
        problem: `This Worker has the host ${refused[0]}, which its server refuses: its option hosts has ${hosts.join(', ')}.`,
        fix: `Write ${refused[0]} in the option hosts.`,
        change: foreign[0] !== undefined ? { from: foreign[0], to: refused[0] } : undefined,
      })
    }
  }
  // Routes may name each tenant.
  const needed = path.includes('{') ? [] : [path, ...(has.auth ? [`/.well-known/oauth-protected-resource${path}`] : [])]
  for (const host of new Set(names)) {
    const own = patterns.filter((_, index) => names[index] === host)
    const missed = needed.find((address) => !own.some((one) => one.custom_domain || covers(one.pattern, host, address)))
    if (missed === undefined) continue
    findings.push({
      rule: 'route',
      level: 'error',
      file: config.file,
      line: lineOf(config, own[0]?.pattern ?? '', 'routes', 'route'),
      problem: `No route leads to ${host}${missed}, ${missed === path ? 'where the server answers' : 'where clients find the authorization server'}.`,
      fix: `Add the route "${host}${missed}*".`,
    })
  }
  return findings
}

function covers(pattern: string, host: string, path: string): boolean {
  const rest = pattern.replace(/^https?:\/\//, '').slice(host.length) || '/'
  const [start, ...ends] = rest.split('*')
  return ends.length > 0 ? path.startsWith(start as string) : path === rest
}

/** @returns the place of a declaration */
export function locate(
  sources: readonly Source[],
  entry: Pick<Entry, 'kind' | 'name'>,
): { file: string; line: number | undefined } {
  const place = placeOf(sources, entry)
  return { file: place?.file ?? sources[0]?.path ?? '', line: place?.line }
}

function placeOf(
  sources: readonly Source[],
  { kind, name }: { kind?: Entry['kind']; name: string },
): Place | undefined {
  const quoted = `['"\`]${escapeRegExp(name)}['"\`]`
  const call = kind
    ? new RegExp(`\\.${kind}\\s*\\(\\s*${quoted}`)
    : new RegExp(`\\.(?:tool|resource|prompt)\\s*\\(\\s*${quoted}`)
  return find(sources, call, 'code') ?? find(sources, new RegExp(quoted), 'code')
}

function list(entries: readonly Entry[]): string {
  const named = entries
    .slice(0, 5)
    .map(({ name, kind }, index) => (index === 0 ? `The ${kind} "${name}"` : `"${name}"`))
  const others = entries.length - named.length
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join(', ')
}

const are = ({ length }: readonly unknown[]) => (length === 1 ? 'is' : 'are')
