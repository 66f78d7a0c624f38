/** What a thief finds who reads the files of `McpSignIn`. */
import { globSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { Stage } from './attacks/stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await Stage.start({ CASE: 'single' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

/** The texts that the files of the objects contain, also those of deleted rows. Other servers of this machine have such files, too. */
function found(texts: Readonly<Record<string, string>>): string[] {
  const files = globSync(join(tmpdir(), 'miniflare-*', '**', '*McpSignIn*', '*'), {
    exclude: (name) => name === 'node_modules',
  })
  const contents = files.flatMap((file) => readIfThere(file))
  return Object.keys(texts).filter((name) => contents.some((content) => content.includes(texts[name] as string)))
}

function readIfThere(file: string): Buffer[] {
  try {
    return [readFileSync(file)]
  } catch {
    return []
  }
}

test('no token, code, secret, name or email address is in the files', async () => {
  const browser = new Browser()
  const person = 'Zebedee Quillfeather'
  stage.gitHub.account = { id: 90_210, login: 'zebedeeq', name: person }
  const { client, tokens, code, asked } = await stage.signIn(browser)
  const refreshed = (await (await stage.token(stage.refreshForm(client, tokens.refresh_token))).json()) as typeof tokens
  await stage.call(refreshed.access_token)
  const confidential = await stage.registered({ token_endpoint_auth_method: 'client_secret_post' })
  const unused = stage.ask(await stage.registered())
  const unusedCode = await stage.code(unused, browser)
  const open = await stage.consent({ state: 'the-state-of-an-open-page' }, new Browser())
  const visit = await stage.callback()
  const secretPart = (token: string) => token.split(':')[2] as string

  // Client ids are stored in clear, so their files are the right ones.
  expect(found({ client: client.id, confidential: confidential.id })).toEqual(['client', 'confidential'])
  expect(
    found({
      'access token': secretPart(tokens.access_token),
      'refresh token': secretPart(tokens.refresh_token),
      'refreshed access token': secretPart(refreshed.access_token),
      'refreshed refresh token': secretPart(refreshed.refresh_token),
      'used code': secretPart(code),
      'unused code': secretPart(unusedCode),
      'verifier of the client': asked.verifier,
      'secret of a client': confidential.secret as string,
      'secret of this server at GitHub': 'hush',
      'token of GitHub': [...stage.gitHub.tokens.keys()].at(-1) as string,
      'handle of an open page': open.form.get('handle') as string,
      'state at GitHub': visit.url.searchParams.get('state') as string,
      'code of GitHub': visit.url.searchParams.get('code') as string,
      'state of the client': 'the-state-of-an-open-page',
      name: person,
      'a part of the name': 'Quillfeather',
      login: 'zebedeeq',
      email: 'zebedeeq@example.com',
    }),
  ).toEqual([])
})
