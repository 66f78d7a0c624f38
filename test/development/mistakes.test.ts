import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createTestHarness } from 'wrangler'
import { examine } from '../../cli/doctor/examine.ts'
import { wranglerOf } from '../../cli/doctor/wrangler.ts'
import { connect } from '../../worker/testing/index.ts'
import { write } from '../cli/good-project.ts'
import { quickBundle } from '../cli/quick-bundle.ts'
import { errorsOf } from '../docs/compile.ts'
import { sample } from '../support/full.ts'
import { startServer } from '../support/server.ts'
import { atStart, calls } from './mistakes/calls.ts'
import { type Mistake, oldNode } from './mistakes/mistakes.ts'
import { diagnosed, printed, undeployed } from './mistakes/projects.ts'
import { newServer, startup } from './mistakes/startup.ts'
import { typed, typesHead } from './mistakes/types.ts'

const root = resolve(import.meta.dirname, '../..')

describe('an invalid declaration throws its message at startup:', () => {
  test.each(startup)('$mistake', ({ declare, message }) => {
    expect(() => declare(newServer())).toThrow(new Error(message))
  })
})

/** The first lines of what a Worker printed. */
const firstLines = (logs: readonly { message: string }[]) => logs.map(({ message }) => message.split('\n')[0])

describe('a mistake of a handler is reported to the client, or printed in development:', () => {
  const accept = { action: 'accept', content: { sure: true } }
  const revisions = { stateless: '2026-07-28', session: '2025-11-25' } as const
  // They never end: their messages come while they run.
  const endless = ['never_resolves', 'sleeps_for_an_hour']
  let server: Awaited<ReturnType<typeof startServer>>

  beforeAll(async () => {
    vi.stubEnv('NODE_ENV', 'development')
    server = await startServer('test/development/mistakes', { API_KEY: 'hunter2hunter2' })
    const client = await connect(server.url, { revision: revisions.stateless })
    await (await fetch(new URL('/guarded/mcp', server.url))).text()
    // The server ends with them.
    for (const tool of endless) client.callTool(tool).catch(() => {})
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await server[Symbol.asyncDispose]()
  })

  const rows = calls.flatMap(({ of, ...row }) =>
    (of ? [of] : (['stateless', 'session'] as const)).map((client) => ({ ...row, of: client })),
  )

  test.each(atStart)('$mistake', async ({ message }) => {
    await vi.waitFor(() => expect(firstLines(server.harness.getLogs())).toContain(message))
  })

  test.each(rows)(
    '$mistake, for the client of a $of',
    async ({ tool, of, args = {}, canElicit = true, where, message }) => {
      if (!endless.includes(tool)) {
        const options = canElicit
          ? { answers: { elicit: () => accept }, capabilities: { elicitation: { form: {} } } }
          : {}
        await using client = await connect(server.url, { revision: revisions[of], ...options })
        const answer = await client.callTool(tool, args).then(
          ({ content }) => ({ result: content.map((block) => ('text' in block ? block.text : block)) }),
          (problem: Error) => ({ error: problem.message }),
        )
        if (where === 'result') return expect(answer).toEqual({ result: [message] })
        if (where === 'error') return expect(answer).toEqual({ error: message })
      }
      await vi.waitFor(() => expect(firstLines(server.harness.getLogs())).toContain(message))
    },
  )
})

/** What wrangler says while a project starts and takes a request. */
async function printedBy(folder: string): Promise<string> {
  const harness = createTestHarness({ root: folder, workers: [{ configPath: 'wrangler.toml' }] })
  const lines: string[] = []
  try {
    await harness.listen()
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    await (await harness.fetch('http://localhost/mcp', { method: 'POST', headers, body })).text()
  } catch (problem) {
    lines.push((problem as Error).message)
  }
  lines.push(...harness.getLogs().map(({ message }) => message))
  await harness.close().catch(() => {})
  return lines.join('\n')
}

describe('wrangler dev prints the mistake in a project:', () => {
  test.each(sample(printed, 4))('$mistake', async ({ files, message }) => {
    vi.stubEnv('NODE_ENV', 'development')
    using project = write(files)
    expect(await printedBy(project.folder)).toContain(message)
  })
})

describe('doctor finds the mistake in a project:', () => {
  test.each(sample(diagnosed, 6))('$mistake', async ({ files, message }) => {
    using project = write(files)
    const findings = await examine(project.folder, (folder) => {
      const wrangler = wranglerOf(folder)
      return {
        ...wrangler,
        bundle: async (file, date) =>
          (await quickBundle(folder, 'src/index.ts')) ?? (await wrangler.bundle(file, date)),
      }
    })
    expect(findings.map(({ problem, fix }) => `${problem} ${fix}`)).toContain(message)
  })
})

describe('wrangler dev and doctor report what a deployment may accept:', () => {
  afterEach(() => vi.unstubAllEnvs())

  test.each(sample(undeployed, 4))('%s', async (_, files, message) => {
    using project = write(files)
    vi.stubEnv('NODE_ENV', 'development')
    expect(await printedBy(project.folder)).toContain(message)
    // Whatever the shell says.
    vi.stubEnv('NODE_ENV', 'production')
    const findings = await examine(project.folder, wranglerOf)
    expect(findings.map(({ problem }) => problem).join('\n')).toContain(message)
  })
})

test('tsc reports mistakes in types', () => {
  const modules = typed.map(({ code }, index) => ({
    page: 'mistakes',
    block: { language: 'ts', code, line: index + 1 },
    code: `${typesHead}${code}\nexport {}\n`,
    lines: [],
    isWhole: false,
  }))
  const errors = errorsOf(modules)
  expect(errors).toHaveLength(typed.length)
  for (const [index, { message }] of typed.entries()) expect(errors[index]).toContain(message)
})

test('wrangler refuses an old Node.js', async () => {
  const old = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.19.0"})'
  const args = ['--import', old, resolve(root, 'node_modules/wrangler/bin/wrangler.js'), 'dev']
  const printed = await new Promise<string>((done) =>
    execFile(process.execPath, args, (_, out, err) => done(out + err)),
  )
  expect(printed).toContain(oldNode.message)
})

describe('docs/reference/mistakes.md has every mistake:', () => {
  const page = readFileSync(resolve(root, 'docs/reference/mistakes.md'), 'utf8')
  /** As it is written in a table. */
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const row = ({ mistake, message, fix }: Mistake) => `| ${cell(mistake)} | ${code(cell(message))} | ${cell(fix)} |`
  const code = (text: string) => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``)

  test.each<[string, readonly Mistake[]]>([
    ['Declarations', startup],
    ['Types', typed],
    ['Configuration and exports', [...printed, ...atStart, oldNode]],
    ['Handlers', calls],
    ['Found by doctor', diagnosed],
  ])('%s', (heading, rows) => {
    const [, section = ''] = page.split(`\n## ${heading}\n`)
    const [own = ''] = section.split('\n## ')
    const written = own.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| mistake '))
    expect(written).toEqual(rows.map(row))
  })
})
