/** Compatibility date, flags and other settings of the platform. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { find } from '../code.ts'
import { applyChange, assigned, type Config, lineOf } from '../config.ts'
import type { Finding } from '../finding.ts'
import { localFiles, type Project } from '../project.ts'

/** From this date, deleting all data of an object deletes its alarm, which ended sessions rely on. */
const oldest = '2026-02-24'
/** The date that all tests use. */
export const tested = '2026-10-15'
/** From this compatibility date on Node.js compatibility is on by default. */
const withNode = '2026-08-04'

export function platform({ folder, config, sources }: Project): Finding[] {
  const { raw } = config
  const { compatibility_date: date, compatibility_flags: flags = [], name = '' } = raw
  const at = (rule: string, level: Finding['level'], ...keys: string[]) => ({
    rule,
    level,
    file: config.file,
    line: lineOf(config, ...keys),
  })
  const findings: Finding[] = []

  if (date === undefined || date < oldest) {
    findings.push({
      ...at('compatibility-date', 'error', 'compatibility_date'),
      problem: date
        ? `The compatibility date ${date} is too old: before ${oldest}, Durable Objects of ended sessions are not deleted.`
        : 'The configuration has no compatibility date, so Cloudflare uses its oldest behavior.',
      fix: `Set the compatibility date to ${tested}, which edgemcp is tested with.`,
      change: assigned(config, 'compatibility_date', tested),
    })
  }
  // These edits change one line: each of them changes the output of the one before.
  let [edited, flagsNow] = [config, flags]
  const withFlags = (next: readonly string[]) => {
    const change = assigned(edited, 'compatibility_flags', next)
    if (change) [edited, flagsNow] = [{ ...edited, text: applyChange(edited.text, change) }, [...next]]
    return change
  }
  if (!flags.includes('enable_request_signal')) {
    findings.push({
      ...at('request-signal', 'error', 'compatibility_flags', 'compatibility_date'),
      problem: 'The flag enable_request_signal is missing: calls continue after their client disconnects.',
      fix: 'Add the flag.',
      change: withFlags([...flagsNow, 'enable_request_signal']),
    })
  }
  const publicFetch = 'global_fetch_strictly_public'
  if (!flags.includes(publicFetch) && find(sources, /['"]edgemcp\/events['"]/, 'code')) {
    findings.push({
      ...at('callback-urls', 'error', 'compatibility_flags', 'compatibility_date'),
      problem:
        'The flag global_fetch_strictly_public is missing: events() sends to callback URLs of your own zone without passing Cloudflare, ' +
        'so any subscriber reaches its origin server.',
      fix: 'Add the flag.',
      change: withFlags([...flagsNow, publicFetch]),
    })
  }
  const isPublic = flagsNow.some((flag) => /^global_fetch_(?:strictly_public|private_origin)$/.test(flag))
  if (!isPublic && find(sources, /['"]edgemcp\/sign-in['"]/, 'code')) {
    findings.push({
      ...at('client-metadata', 'hint', 'compatibility_flags', 'compatibility_date'),
      problem:
        'The flag global_fetch_strictly_public is missing, so signIn() offers no client id metadata documents: ' +
        'Claude and ChatGPT fall back to dynamic registration, which 2026-07-28 deprecates.',
      fix: 'Add the flag.',
      change: withFlags([...flagsNow, publicFetch]),
    })
  }
  const node = flags.find((flag) => /^nodejs_compat(?:_v2)?$/.test(flag) && !flags.includes(`no_${flag}`))
  if (node && date !== undefined && date >= withNode) {
    findings.push({
      ...at('nodejs-compat', 'hint', 'compatibility_flags'),
      problem: `The flag ${node} has no effect: Node.js compatibility is on by default from the compatibility date ${withNode}.`,
      fix: 'Remove the flag.',
      change: withFlags(flagsNow.filter((flag) => flag !== node)),
    })
  }
  if (/_/.test(name) || name.length > 63) {
    const better = name.replace(/_+/g, '-').slice(0, 63).replace(/-+$/, '')
    findings.push({
      ...at('name', name.length > 63 ? 'error' : 'hint', 'name'),
      problem: `"${name}" is not a valid host name, so the Worker has a different address on workers.dev, or none.`,
      fix: `Name it "${better}".`,
      change: assigned(config, 'name', better),
    })
  }
  if (raw.workers_dev === false && !raw.route && !raw.routes?.length) {
    findings.push({
      ...at('unreachable', 'hint', 'workers_dev'),
      problem: 'No client can reach this Worker: it has no routes, and no address on workers.dev.',
      fix: 'Add a route with the host of the Worker, or remove workers_dev.',
      change: assigned(config, 'workers_dev', true),
    })
  }
  return [...findings, ...environments(config), ...secretFilesTracked(folder)]
}

/** Environments inherit most settings, but neither variables nor secrets. */
function environments(config: Config): Finding[] {
  const { vars = {}, env = {} } = config.raw
  return Object.entries(env).flatMap(([name, environment]) => {
    const missing = Object.keys(vars).filter((key) => !(key in (environment.vars ?? {})))
    if (missing.length === 0) return []
    const list = missing.map((key) => `${key} = ${JSON.stringify(vars[key])}`).join('\n')
    return {
      rule: 'environment-vars',
      level: 'error' as const,
      file: config.file,
      line: lineOf(config, `env.${name}`, `env.${name}.vars`, name),
      problem: `The environment "${name}" has no ${missing.join(', ')}: environments do not inherit vars.`,
      fix: `Add them to ${config.isToml ? `[env.${name}.vars]` : `env.${name}.vars`}.`,
      ...(config.isToml && !environment.vars && { change: { to: `\n[env.${name}.vars]\n${list}\n` } }),
    }
  })
}

/** Files with secrets that git does not ignore. */
function secretFilesTracked(folder: string): Finding[] {
  return localFiles
    .filter((file) => existsSync(join(folder, file)) && !isIgnored(folder, file))
    .map((file) => ({
      rule: 'secret-files-tracked',
      level: 'error',
      file: '.gitignore',
      problem: `git does not ignore ${file}, which has secrets.`,
      fix: `Add ${file} to .gitignore; if it was committed, replace the secrets.`,
      change: { to: `\n${file}\n` },
    }))
}

/** Also true without git. */
function isIgnored(folder: string, file: string): boolean {
  try {
    execFileSync('git', ['check-ignore', '--quiet', file], { cwd: folder, stdio: 'ignore' })
    return true
  } catch (problem) {
    return (problem as { status?: number }).status !== 1
  }
}
