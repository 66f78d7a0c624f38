/** Token requests of one grant at the same time. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stage } from './attacks/stage.ts'
import { type Registered, seen, type Tokens } from './client.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const tokensOf = async (response: Response): Promise<Tokens[]> =>
  response.status === 200 ? [(await response.json()) as Tokens] : []

/** Counts the tokens that still work. */
async function working(client: Registered, tokens: readonly Tokens[]): Promise<number> {
  const answers = await Promise.all(
    tokens.map(async ({ access_token, refresh_token }) => [
      // Each of them is sent for the first time, so no cache knows it.
      (await stage.call(access_token)).startsWith('200'),
      (await stage.token(stage.refreshForm(client, refresh_token))).status === 200,
    ]),
  )
  return answers.flat().filter(Boolean).length
}

test('a chain of refreshes, each of which is sent three times at once, loses no grant', async () => {
  const { client, tokens } = await stage.signIn()
  let current = tokens.refresh_token
  for (let step = 0; step < 10; step++) {
    const answers = await times(3, () => stage.token(stage.refreshForm(client, current)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    // Whichever answer the client keeps: all are the same.
    const next = new Set((await Promise.all(answers.map(tokensOf))).flat().map(({ refresh_token }) => refresh_token))
    expect(next.size).toBe(1)
    current = [...next][0] as string
  }
  expect(await seen(await stage.token(stage.refreshForm(client, current)))).toBe('200 granted')
})

test.each<{ what: string; extra: Record<string, string> }>([
  { what: 'as they are', extra: {} },
  { what: 'with a code of another grant', extra: { code: 'github.1:a:b' } },
  { what: 'with an empty code', extra: { code: '' } },
  { what: 'with a token and a subject token of other grants', extra: { token: 'a:b:c', subject_token: 'd:e:f' } },
])('refreshes $what do not revive a grant that is revoked at the same time', async ({ extra }) => {
  const left = await times(6, async () => {
    const { client, tokens } = await stage.signIn()
    const form = { ...stage.refreshForm(client, tokens.refresh_token), ...extra }
    const refreshes = times(8, (index) => stage.token({ ...form, n: String(index) }))
    const revocation = stage.token({ token: tokens.refresh_token, client_id: client.id })
    const known = (await Promise.all((await refreshes).map(tokensOf))).flat()
    expect((await revocation).status).toBe(200)
    return working(client, known)
  })
  expect(left).toEqual([0, 0, 0, 0, 0, 0])
})

test('refreshes leave no token of a grant that a new sign-in replaces at the same time', async () => {
  const left = await times(6, async () => {
    const { client, tokens } = await stage.signIn()
    const { url, browser } = await stage.callback({ client_id: client.id })
    let isReplaced = false
    const replaced = browser.visit(url).then(({ status }) => {
      isReplaced = true
      return status
    })
    const known = await times(3, async (index) => {
      const found: Tokens[] = []
      for (let step = 0; !isReplaced; step++) {
        const form = { ...stage.refreshForm(client, tokens.refresh_token), n: `${index} ${step}` }
        found.push(...(await tokensOf(await stage.token(form))))
      }
      return found
    })
    expect(await replaced).toBe(302)
    return working(client, known.flat())
  })
  expect(left).toEqual([0, 0, 0, 0, 0, 0])
})
