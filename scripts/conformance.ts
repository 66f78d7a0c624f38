/**
 * Runs the official conformance suite against examples/conformance in real workerd, at one URL for every protocol version of
 * the suite, and its scenarios for authorization servers against examples/github. Fails unless both frozen requirement sets are
 * complete, every message on the wire matches its schema, there are no warnings, and there are no failures other than those in
 * test/conformance/expected-failures.yaml.
 *
 * @see https://github.com/modelcontextprotocol/conformance
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { start as startGitHub } from '../examples/github/auth-server/start.ts'
import { openRelay } from '../test/conformance/relay.ts'
import { RawClient } from '../test/sign-in/client.ts'
import { freePort } from '../test/support/free-port.ts'
import { Browser } from '../worker/testing/provider/browser.ts'

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= 'false'
process.env.WRANGLER_SEND_METRICS ??= 'false'
process.env.WRANGLER_LOG ??= 'none'
// The suite is large, and one run starts it 30 times: it is compiled once for all of them.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'edgemcp-compiled')

type Status = 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
type Check = { id: string; status: Status; errorMessage?: string; details?: { messagesValidated?: number } }
type Scenario = { name: string; scored: boolean; checks: readonly Check[] }
type Plan = {
  title: string
  /** The number of scored scenarios, so that a missing one is found. */
  scored: number
  /** The protocol version of every handshake. Default: that of the suite's client. */
  handshake?: string
  /** Arguments of the suite, for each of its runs. */
  invocations: readonly (readonly string[])[]
  /** Selects the scored scenarios. Default: all. */
  decides?: (scenario: string) => boolean
}
type Run = Plan & { scenarios: readonly Scenario[]; seconds: number; crash: string | undefined }

const root = resolve(import.meta.dirname, '..')
const cli = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
// The suite's own parser, for its own files.
const yaml = createRequire(cli)('yaml') as { parse(text: string): unknown }

/** Scenarios that no requirement set scores and that must pass, with checks that a server could omit. */
const unscored: Record<string, readonly string[]> = {
  'tasks-lifecycle': [],
  'tasks-capability-negotiation': [],
  'tasks-wire-fields': [],
  'tasks-request-state-removal': [],
  'tasks-mrtr-input': [],
  'tasks-request-headers': [],
  'tasks-dispatch-and-envelope': [],
  'tasks-required-task-error': [],
  'tasks-mrtr-composition': [],
  'http-header-validation': [],
  'http-custom-header-server-validation': [],
  'json-schema-2020-12': [],
  'server-session-lifecycle': ['server-session-delete-accepted', 'server-session-terminated-returns-404'],
  'server-sse-polling': ['server-sse-priming-event', 'server-sse-retry-field', 'server-sse-disconnect-resume'],
}

const expected = await readExpectedFailures()
const runs = await runAll([
  await required('2026-07-28', 37),
  await required('2025-11-25', 30),
  everything('2025-06-18', 27),
  // The suite has few scenarios for this version, so those of the next one are required, except elicitation.
  await forced('2025-03-26', 26, { from: '2025-06-18', except: 'tools-call-elicitation' }),
  skills('2026-07-28', ['directory', 'enumeration', 'manifest']),
])
const problems = [...runs.flatMap(problemsOf), ...notRun(), ...stale()]

print('Skipped', notesOf('SKIPPED'))
print('Warnings', notesOf('WARNING'))
print('Problems', problems)
printTable()
process.exitCode = problems.length > 0 ? 1 : 0

// Plans

/** The scenarios that a protocol version required when it was released, and unscored ones. */
async function required(revision: string, scored: number): Promise<Plan> {
  const set = (await readYaml(resolve(dirname(cli), `../requirements/${revision}.yaml`))) as { server: string[] }
  const decides = (scenario: string) => set.server.includes(scenario)
  return { title: `requirements ${revision}`, scored, invocations: [['--requirements', revision]], decides }
}

/** The scenarios of an extension, which no requirement set contains. */
function skills(revision: string, names: readonly string[]): Plan {
  const invocations = names.map((name) => [
    '--scenario',
    `sep-2640-skills-${name}`,
    '--spec-version',
    revision,
    '--force',
  ])
  return { title: `skills at ${revision}`, scored: names.length, invocations }
}

/** Every scenario that the suite has for a protocol version. */
function everything(revision: string, scored: number): Plan {
  const invocations = [['--suite', 'all', '--spec-version', revision]]
  return { title: `scenarios at ${revision}`, scored, handshake: revision, invocations }
}

/** The scenarios of one protocol version, validated against the schema of another. */
async function forced(revision: string, scored: number, of: { from: string; except: string }): Promise<Plan> {
  const list = await startSuite(['list', '--server', '--spec-version', of.from])
  const names = [...list.output.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => String(name))
  const invocations = names
    .filter((name) => name !== of.except)
    .map((name) => ['--scenario', name, '--spec-version', revision, '--force'])
  return { title: `scenarios at ${revision}`, scored, handshake: revision, invocations }
}

async function readExpectedFailures(): Promise<string[]> {
  const listed = await readYaml(join(root, 'test/conformance/expected-failures.yaml'))
  return (listed as { server?: string[] | null }).server ?? []
}

async function readYaml(file: string): Promise<unknown> {
  return yaml.parse(await readFile(file, 'utf8'))
}

// Runs

async function runAll(plans: readonly Plan[]): Promise<Run[]> {
  const { startServer } = await import('../test/support/server.ts')
  const folder = await mkdtemp(join(tmpdir(), 'edgemcp-conformance-'))
  try {
    await using server = await startServer('examples/conformance')
    const finished: Run[] = []
    // In sequence, because change notifications of one run would reach the subscribers of another.
    for (const plan of plans) finished.push(await run(plan, server.url, await mkdtemp(join(folder, 'run-'))))
    return [...finished, await runAuthorization(2, await mkdtemp(join(folder, 'run-')))]
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function run(plan: Plan, url: URL, folder: string): Promise<Run> {
  await using relay = plan.handshake ? await openRelay(url, plan.handshake) : undefined
  const started = performance.now()
  const scenarios: Scenario[] = []
  let crash: string | undefined
  for (const args of plan.invocations) {
    const place = ['--url', (relay?.url ?? url).href, '--output-dir', folder]
    const { output, exitCode } = await startSuite(['server', ...args, ...place], { cwd: folder })
    for (const { name, checks } of await readScenarios(output, folder)) {
      scenarios.push({ name, scored: plan.decides?.(name) ?? true, checks })
    }
    if (exitCode !== 0) crash = output
  }
  return { ...plan, scenarios, seconds: (performance.now() - started) / 1000, crash }
}

/** Runs the scenarios for authorization servers against `signIn()`, with a stand-in for GitHub and a browser of its user. */
async function runAuthorization(scored: number, folder: string): Promise<Run> {
  const { startServer } = await import('../test/support/server.ts')
  const started = performance.now()
  const gitHub = await startGitHub(0)
  await using _ = { [Symbol.asyncDispose]: () => gitHub.stop() }
  await using server = await startServer('examples/github', gitHub.variables)
  const port = await freePort()
  const client = await new RawClient(server.url).registered({ redirect_uris: [`http://127.0.0.1:${port}/callback`] })
  const place = ['--url', server.url.origin, '--resource', server.url.href, '--output-dir', folder]
  const { output, exitCode } = await startSuite(
    ['authorization', ...place, '--client-id', client.id, '--port', `${port}`],
    {
      cwd: folder,
      onLine: (line) =>
        line.startsWith(`${server.url.origin}/authorize?`) ? signInWithGitHub(new URL(line)) : undefined,
    },
  )
  const found = await readScenarios(output, folder)
  return {
    title: 'authorization server',
    scored,
    invocations: [],
    scenarios: found.map((scenario) => ({ ...scenario, scored: true })),
    seconds: (performance.now() - started) / 1000,
    crash: exitCode === 0 ? undefined : output,
  }
}

/** Allows everything on the pages behind an authorization URL, and returns to the client. */
async function signInWithGitHub(authorization: URL): Promise<void> {
  const callback = new URL(authorization.searchParams.get('redirect_uri') ?? '')
  callback.search = String(await new Browser({ login: 'ada' }).authorize(authorization, { decision: 'github' }))
  await fetch(callback)
}

/** @param onLine receives each line that the suite prints. What it throws ends the suite */
async function startSuite(
  args: readonly string[],
  { cwd = root, onLine }: { cwd?: string; onLine?(line: string): Promise<void> | undefined } = {},
): Promise<{ output: string; exitCode: number }> {
  const suite = spawn(process.execPath, [cli, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const problems: unknown[] = []
  const end = (problem: unknown) => {
    problems.push(problem)
    suite.kill()
  }
  const readLines = async () => {
    const lines: string[] = []
    for await (const line of createInterface(suite.stdout)) {
      lines.push(line)
      void onLine?.(line)?.catch(end)
    }
    return lines
  }
  const [lines, errors, [exitCode]] = await Promise.all([readLines(), text(suite.stderr), once(suite, 'close')])
  return { output: [...lines, errors, ...problems].join('\n'), exitCode }
}

/** The scenarios that the suite announces, not its result files: a scenario that crashes leaves none. */
async function readScenarios(output: string, folder: string): Promise<Omit<Scenario, 'scored'>[]> {
  const announced = output.matchAll(/^Running client scenario (?:for authorization server )?'(\S+)' against server/gm)
  return Promise.all([...announced].map(async ([, name = '']) => ({ name, checks: await readChecks(folder, name) })))
}

async function readChecks(folder: string, scenario: string): Promise<Check[]> {
  const names = await readdir(folder)
  const name = names.find(
    (name) => /^(?:authorization-)?server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$/.exec(name)?.[1] === scenario,
  )
  const file = name && join(folder, name, 'checks.json')
  return file && existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : []
}

// Results

function outcome({ checks }: Scenario): 'passed' | 'failed' | 'skipped' {
  const has = (status: Status) => checks.some((check) => check.status === status)
  if (has('FAILURE') || checks.length === 0) return 'failed'
  return has('SUCCESS') ? 'passed' : 'skipped'
}

function problemsOf({ title, scored, scenarios, crash }: Run): string[] {
  const names = scenarios.flatMap((scenario) => scenarioProblems(scenario).map((it) => `${scenario.name}: ${it}`))
  const deciding = scenarios.filter((scenario) => scenario.scored).length
  if (deciding !== scored) names.push(`${deciding} scenarios decided instead of ${scored}`)
  // The output of the suite explains a crash that no result shows.
  if (crash !== undefined) names.push(names.length > 0 ? 'the suite failed' : `the suite failed\n${crash}`)
  return names.map((problem) => `${title}: ${problem}`)
}

function scenarioProblems(scenario: Scenario): string[] {
  const { name, scored, checks } = scenario
  const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  // A scenario that is expected to fail must still send valid messages.
  if (expected.includes(name)) return bad.filter(({ id }) => id.startsWith('wire-schema')).map(describe)
  if (bad.length > 0) return bad.map(describe)
  const wanted = unscored[name]
  if (outcome(scenario) !== 'passed' && (scored || wanted || checks.length === 0)) return ['nothing was checked']
  const skipped = wanted ? checks.filter(({ status }) => status === 'SKIPPED') : []
  const absent = (wanted ?? []).filter((id) => !checks.some((check) => check.id === id && check.status === 'SUCCESS'))
  return [...skipped.map(describe), ...absent.map((id) => `${id} was not checked`)]
}

function notRun(): string[] {
  const names = new Set(runs.flatMap(({ scenarios }) => scenarios.map(({ name }) => name)))
  return Object.keys(unscored).flatMap((name) => (names.has(name) ? [] : [`${name} was not run`]))
}

/** No scenario may be expected to fail. */
function stale(): string[] {
  return expected.map((name) => `expected-failures.yaml: ${name} may not be expected to fail`)
}

function describe({ id, status, errorMessage }: Check): string {
  return `${status} ${id}${errorMessage ? `: ${errorMessage.replaceAll('\n', '\n    ')}` : ''}`
}

// Output

/** Each note once, with the runs that have it. */
function notesOf(status: Status): string[] {
  const notes = new Map<string, Set<string>>()
  for (const { title, scenarios } of runs) {
    for (const { name, checks } of scenarios) {
      for (const check of checks.filter((check) => check.status === status)) {
        const note = `${name}: ${describe(check)}`
        notes.set(note, (notes.get(note) ?? new Set()).add(title))
      }
    }
  }
  return [...notes].map(([note, titles]) => `${note} (${[...titles].join(', ')})`)
}

function print(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`${title}\n${lines.map((line) => `  ${line}\n`).join('')}`)
}

function printTable(): void {
  const rows = runs.map(({ title, scored, scenarios, seconds }) => {
    const judged = scenarios.filter(({ name }) => !expected.includes(name))
    const checks = judged.flatMap(({ checks }) => checks)
    const count = (status: Status) => checks.filter((check) => check.status === status).length
    const ended = (as: string, scored: boolean) =>
      judged.filter((scenario) => scenario.scored === scored && outcome(scenario) === as).length
    return [
      title,
      `${ended('passed', true)}/${scored}`,
      `${ended('passed', false)}/${ended('passed', false) + ended('failed', false)}`,
      `${ended('skipped', false)}`,
      `${scenarios.length - judged.length}`,
      `${count('SUCCESS')}/${count('SUCCESS') + count('FAILURE')}`,
      `${count('WARNING')}`,
      `${checks.reduce((sum, { details }) => sum + (details?.messagesValidated ?? 0), 0)}`,
      seconds.toFixed(1),
    ]
  })
  const head = ['run', 'scored', 'not scored', 'skipped', 'expected', 'checks', 'warnings', 'messages', 'seconds']
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => String(row[column]).length)))
  for (const [title = '', ...cells] of [head, ...rows]) {
    const right = cells.map((cell, column) => cell.padStart(widths[column + 1] ?? 0))
    console.log([title.padEnd(widths[0] ?? 0), ...right].join('  '))
  }
}
