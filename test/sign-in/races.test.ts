/** Token requests of one grant at the same time. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Stage } from './attacks/stage.ts'
import { seen } from './client.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const refreshTokenOf = async (response: Response): Promise<string[]> =>
  response.status === 200 ? [((await response.json()) as { refresh_token: string }).refresh_token] : []

test('a chain of refreshes, each of which is sent three times at once, loses no grant', async () => {
  const { client, tokens } = await stage.signIn()
  let current = tokens.refresh_token
  for (let step = 0; step < 10; step++) {
    const answers = await times(3, () => stage.token(stage.refreshForm(client, current)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    // Whichever answer the client keeps: all are the same.
    const next = new Set((await Promise.all(answers.map(refreshTokenOf))).flat())
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
    const refreshes = times(8, () => stage.token(form))
    const revocation = stage.token({ token: tokens.refresh_token, client_id: client.id })
    const known = (await Promise.all((await refreshes).map(refreshTokenOf))).flat()
    expect((await revocation).status).toBe(200)
    const after = await Promise.all(known.map((token) => stage.token(stage.refreshForm(client, token))))
    return after.filter(({ status }) => status === 200).length
  })
  expect(left).toEqual([0, 0, 0, 0, 0, 0])
})

test('refreshes do not revive a grant that a new sign-in replaces at the same time', async () => {
  const left = await times(6, async () => {
    const { client, tokens } = await stage.signIn()
    const refreshes = times(12, () => stage.token(stage.refreshForm(client, tokens.refresh_token)))
    const replaced = stage.code(stage.ask(client))
    const known = (await Promise.all((await refreshes).map(refreshTokenOf))).flat()
    await replaced
    const after = await Promise.all(known.map((token) => stage.token(stage.refreshForm(client, token))))
    return after.filter(({ status }) => status === 200).length
  })
  expect(left).toEqual([0, 0, 0, 0, 0, 0])
})
