import { afterEach, expect, test, vi } from 'vitest'
import { startServer } from '../support/server.ts'

afterEach(() => vi.unstubAllEnvs())

type Answer = { title: string; expected: string; said: string }

test.each(['development', 'production'])(
  'options that are misspelt or have wrong values are refused as a server starts, in %s',
  async (environment) => {
    vi.stubEnv('NODE_ENV', environment)
    await using server = await startServer('test/options/server')
    const answers = (await (await fetch(server.url)).json()) as Answer[]
    const said = answers.map(({ title, said }) => `${title}: ${said}`)
    // A deployment proposes no names.
    const proposal = environment === 'production' ? / \(did you mean "\w+"\?\)/ : ''
    expect(said).toEqual(answers.map(({ title, expected }) => `${title}: ${expected.replace(proposal, '')}`))
    expect(answers.length).toBeGreaterThan(100)
  },
)
