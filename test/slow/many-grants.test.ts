/** A user who signs in more often than a user has grants. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Stage } from '../sign-in/attacks/stage.ts'
import { seen, type Tokens } from '../sign-in/client.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start({ CASE: 'single' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** The grants of Ada, by whether their code was exchanged. */
async function grants() {
  const user = { issuer: stage.server.origin, subject: 'github.1815' }
  const response = await fetch(stage.at('/operator?do=grants'), { method: 'POST', body: JSON.stringify(user) })
  const listed = (await response.json()) as { expiresAt?: number }[]
  const exchanged = listed.filter(({ expiresAt }) => expiresAt !== undefined).length
  return { exchanged, open: listed.length - exchanged }
}

test('has 100 grants: another one ends the oldest, with its tokens, also for sign-ins at the same time', async () => {
  const [browser, client] = [new Browser(), await stage.registered()]
  const asked = stage.ask(client)
  const code = () => stage.code(asked, browser)
  const exchange = async (from: string) => {
    const response = await stage.token(stage.codeForm(asked, from))
    expect(response.status).toBe(200)
    return (await response.json()) as Tokens
  }
  const { client: another, tokens: earlier } = await stage.signIn(new Browser())
  const all: Tokens[] = []
  for (let times = 0; times < 100; times++) all.push(await exchange(await code()))
  expect(await grants()).toEqual({ exchanged: 100, open: 0 })
  // An app ends grants of its own before it ends those of others.
  expect(await stage.call(earlier.access_token)).toContain('200')
  const [own] = all
  expect(await seen(await stage.token(stage.refreshForm(client, String(own?.refresh_token))))).toBe('400 invalid_grant')

  const others = await Promise.all(Array.from({ length: 4 }, () => stage.signIn(new Browser())))
  expect(await grants()).toEqual({ exchanged: 100, open: 0 })
  for (const { access_token, refresh_token } of all.slice(1, 4)) {
    expect(await stage.call(access_token)).toContain('401')
    expect(await seen(await stage.token(stage.refreshForm(client, refresh_token)))).toBe('400 invalid_grant')
  }
  expect(await seen(await stage.token(stage.refreshForm(another, earlier.refresh_token)))).toBe('400 invalid_grant')
  const alive = [...all.slice(4), ...others.map(({ tokens }) => tokens)]
  for (const { access_token } of alive) expect(await stage.call(access_token)).toContain('200')

  // Anybody can send a browser that remembers an approval here: codes that nobody exchanges end each other only.
  let newest = ''
  for (let times = 0; times < 102; times++) newest = await code()
  expect(await grants()).toEqual({ exchanged: 100, open: 100 })
  for (const { access_token } of alive) expect(await stage.call(access_token)).toContain('200')
  expect(await stage.call((await exchange(newest)).access_token)).toContain('200')
  expect(await grants()).toEqual({ exchanged: 100, open: 99 })
})
