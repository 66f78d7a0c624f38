/** A client that revokes its access while the objects that store ends of access fail. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../../worker/testing/provider/browser.ts'
import { type ControlledServer, startControlled } from '../support/objects.ts'
import { knowing, TaskClient } from '../tasks/client.ts'
import { RawClient, type Tokens } from './client.ts'
import { GitHub } from './github.ts'
import { objectAt } from './tokens.ts'

let gitHub: GitHub
let server: ControlledServer
let client: RawClient
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startControlled('test/sign-in/unstored', { GITHUB: gitHub.url })
  client = new RawClient(server.url)
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const tables = async (name: string) => {
  const storage = await server.harness.getWorker().getDurableObjectStorage('McpSignIn', { name })
  return storage.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name = '_cf_KV'")
}
const as = ({ access_token }: Tokens) => ({ capabilities: knowing, user: `Bearer ${access_token}` })

test.each([0, 1, 2])(
  'a task ends with the access that its client revoked, if %s writes of the end fail',
  async (times) => {
    gitHub.account = { id: 100 + times, login: 'ada', name: 'Ada' }
    const { client: registered, tokens } = await client.signIn()
    const tasks = new TaskClient(server.url)
    const taskId = await tasks.begin('confirm', {}, as(tokens))
    await tasks.until(taskId, 'input_required', as(tokens))
    const revoke = async () => (await client.token({ token: tokens.refresh_token, client_id: registered.id })).status
    await fetch(client.at(`/fail?times=${times}`))
    // The first failure is repeated at once. A client repeats what was answered with 503.
    if (times === 2) expect(await revoke()).toBe(503)
    expect(await revoke()).toBe(200)
    // Later, the user signs in again, in the same app.
    const asked = client.ask(registered)
    const code = await client.code(asked, new Browser())
    const next = (await (await client.token(client.codeForm(asked, code))).json()) as Tokens
    const answered = await tasks.ask(
      'tasks/update',
      { taskId, inputResponses: { sure: { action: 'accept', content: {} } } },
      as(next),
    )
    expect(answered.status).toBe(200)
    await expect.poll(async () => (await tasks.get(taskId, as(next))).status).toMatch(/failed|completed/)
    expect(await tasks.get(taskId, as(next))).toMatchObject({ status: 'failed' })
  },
)

test.each([0, 2])(
  'the tokens of the provider are deleted with the last grant, if %s writes of its end fail',
  async (times) => {
    gitHub.account = { id: 200 + times, login: 'ada', name: 'Ada' }
    const { client: registered, tokens } = await client.signIn()
    const upstream = objectAt(server.url, `upstream:github.${200 + times}`)
    const revoke = async () => (await client.token({ token: tokens.refresh_token, client_id: registered.id })).status
    expect(await tables(upstream)).not.toEqual([])
    await fetch(client.at(`/fail?times=${times}`))
    if (times === 2) expect(await revoke()).toBe(503)
    expect(await revoke()).toBe(200)
    await expect.poll(() => tables(upstream)).toEqual([])
  },
)
