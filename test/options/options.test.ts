import { afterEach, expect, test, vi } from 'vitest'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

type Answer = { title: string; expected: string; said: string }

test.each(['development', 'production'])(
  'options that are misspelt or have wrong values are refused as a server starts, in %s',
  async (environment) => {
    vi.stubEnv('NODE_ENV', environment)
    await using server = await startServer('test/options/server')
    const [checked = [], typed = []] = (await (await fetch(server.url)).json()) as Answer[][]
    // A deployment proposes no names, and does not check all values of plugins.
    const isProduction = environment === 'production'
    const answers = isProduction ? checked : [...checked, ...typed]
    const said = answers.map(({ title, said }) => `${title}: ${said}`)
    const proposal = isProduction ? / \(did you mean "\w+"\?\)/ : ''
    expect(said).toEqual(answers.map(({ title, expected }) => `${title}: ${expected.replace(proposal, '')}`))
    expect(answers.length).toBeGreaterThan(100)
    expect(typed.length).toBeGreaterThan(5)
  },
)
