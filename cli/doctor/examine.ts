import { CliError } from '../cli-error.ts'
import { type Config, configFileIn, configOf } from './config.ts'
import { errorsFirst, type Finding } from './finding.ts'
import { type Project, placeholders, projectOf } from './project.ts'
import { bundleSize } from './rules/bundle-size.ts'
import { classes } from './rules/classes.ts'
import { secrets } from './rules/env-names-and-secrets.ts'
import { platform, tested } from './rules/platform.ts'
import { declared } from './rules/server-declarations.ts'
import { type Wrangler, wranglerOf } from './wrangler.ts'

/**
 * Examines a project: its configuration, its bundle, and the descriptions of its servers when they
 * run.
 *
 * @param wranglerFor finds the wrangler that reads, builds and runs the project. Default: the one in its node_modules.
 * @throws CliError when the project cannot be examined
 */
export async function examine(
  folder: string,
  wranglerFor: (folder: string) => Wrangler = wranglerOf,
): Promise<Finding[]> {
  const project = await readProject(folder, wranglerFor)
  return 'rule' in project ? [project] : findingsOf(project)
}

/**
 * Reads the configuration of a project, builds and runs it.
 *
 * @param wranglerFor see `examine`
 * @param urlsOf returns the URLs to request, see `Wrangler.run`
 * @returns what makes that impossible, as a finding
 * @throws CliError when the cause is this machine, not the project
 */
export async function readProject(
  folder: string,
  wranglerFor: (folder: string) => Wrangler = wranglerOf,
  urlsOf: (log: readonly string[], config: Config) => readonly string[] = () => [],
): Promise<Project | Finding> {
  const file = configFileIn(folder)
  if (file === undefined) {
    return {
      rule: 'no-configuration',
      level: 'error',
      file: 'wrangler.toml',
      problem: 'This folder has no wrangler.toml, wrangler.json or wrangler.jsonc.',
      fix: 'Give the folder of a Worker, as in npx edgemcp doctor my-mcp-server, or create one with npx edgemcp init.',
    }
  }
  const wrangler = wranglerFor(folder)
  const loaded = attempt(() => wrangler.readConfig(file))
  if ('problem' in loaded) return unreadable(file, loaded.problem)
  const config = configOf(folder, file, loaded.value, (text) => wrangler.parseConfig(file, text))
  const [built, ran] = await Promise.all([
    wrangler.bundle(file, config.raw.compatibility_date ?? tested).catch((problem: Error) => {
      // The cause is this machine, not the project.
      if (problem instanceof CliError) throw problem
      return problem
    }),
    wrangler.run(file, placeholders(folder, config.raw), (log) => urlsOf(log, config)),
  ])
  if (built instanceof Error) return unbuilt(file, built.message)
  return projectOf(folder, config, built, ran)
}

/** Returns the findings of all rules, errors first. */
export function findingsOf(project: Project): Finding[] {
  const findings = [platform, classes, secrets, declared, bundleSize].flatMap((rule) => rule(project))
  // Several servers of a Worker may have the same mistake.
  const once = new Map(findings.map((one) => [JSON.stringify(one), one]))
  return [...once.values()].sort(errorsFirst)
}

function attempt<T>(work: () => T): { value: T } | { problem: Error } {
  try {
    return { value: work() }
  } catch (problem) {
    return { problem: problem as Error }
  }
}

const unreadable = (file: string, { message, location }: Error & { location?: { line?: number } }): Finding => ({
  rule: 'configuration',
  level: 'error',
  file,
  line: location?.line,
  problem: `wrangler cannot read it: ${message.split('\n')[0]}`,
  fix: 'Fix the error that wrangler reports.',
})

/** Builds report errors as `file:line:column: message`. */
function unbuilt(config: string, message: string): Finding {
  const [, file, line] = /(\S+\.\w+):(\d+):\d+/.exec(message) ?? []
  const [, missing] = /Could not resolve "((?:@[\w.-]+\/)?[\w-][\w.-]*)/.exec(message) ?? []
  return {
    rule: 'does-not-build',
    level: 'error',
    file: file ?? config,
    line: line === undefined ? undefined : Number(line),
    problem: `wrangler cannot build it: ${message}`,
    fix: missing
      ? `Run npm install ${missing}.`
      : 'Fix the error that wrangler reports; npx wrangler deploy --dry-run shows when the Worker builds.',
  }
}
