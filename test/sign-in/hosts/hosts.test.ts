/** Host programs whose users sign in: the first time, with more scopes, in two processes, and after the server forgot them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from '../../../worker/testing/provider/browser.ts'
import { Journal } from '../../auth/flow/journal.ts'
import { published } from '../../auth/flow/programs.ts'
import { Wallet } from '../../auth/flow/wallet.ts'
import { representatives } from '../../support/full.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { GitHub } from '../github.ts'
import { Program, sibling } from './host.ts'
import { hosts } from './hosts.ts'

const documents = new Map(hosts.flatMap(({ document }) => (document ? [[document.url, document.metadata]] : [])))

let gitHub: GitHub
let server: TestServer
beforeAll(async () => {
  gitHub = await GitHub.start()
  server = await startServer('test/sign-in/public-fetch', { GITHUB: gitHub.url }, ({ url }) => {
    const found = documents.get(url)
    return found && Response.json(found)
  })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  await gitHub?.[Symbol.asyncDispose]()
})

const read = ['notes:read']

describe.each(hosts)('$name', (host) => {
  test('signs in, gets more scopes when a tool needs them, and refreshes expired tokens', async () => {
    const program = new Program(host, server.url)
    const browser = new Browser()
    expect(JSON.parse(await program.call('whoami', browser, read))).toMatchObject({
      subject: 'github.1815',
      scopes: read,
    })
    expect(program.registrations).toBe(host.document ? 0 : 1)
    expect(await program.call('write', browser)).toBe('written')
    expect(program.tokens?.scope).toBe('notes:read notes:write')
    const { refresh_token } = Object.assign(program.tokens as object, { access_token: 'expired' }) as never
    expect(await program.call('write', browser)).toBe('written')
    expect(program.tokens?.refresh_token).not.toBe(refresh_token)
    expect(program.registrations).toBe(host.document ? 0 : 1)
    expect(browser.pages).toHaveLength(2)
  })
})

// The server does not distinguish the hosts any more.
describe.each(representatives(hosts, ({ document, authentication }) => `${document !== undefined} ${authentication}`))(
  '$name, when it runs twice or is unknown',
  (host) => {
    test('refreshes in two processes at the same time, and both stay signed in', async () => {
      const program = new Program(host, server.url)
      const browser = new Browser()
      await program.call('whoami', browser)
      for (let rounds = 0; rounds < 3; rounds++) {
        const other = sibling(program)
        await Promise.all([program.refresh(), other.refresh()])
        expect(await other.call('whoami', browser)).toContain('github.1815')
        expect(await program.call('whoami', browser)).toContain('github.1815')
      }
      expect(browser.pages).toHaveLength(1)
    })

    test.skipIf(host.document)(
      'whose registration the server does not know any more registers and signs in again',
      async () => {
        const program = new Program(host, server.url)
        const browser = new Browser()
        await program.call('whoami', browser)
        Object.assign(program.client as object, { id: 'MfS4jXq0Dk2LwZ7a' })
        Object.assign(program.tokens as object, { access_token: 'expired' })
        expect(await program.call('whoami', browser)).toContain('github.1815')
        expect(program.registrations).toBe(2)
        expect(browser.pages).toHaveLength(2)
      },
    )
  },
)

describe.each(published)('$name', ({ start }) => {
  test('registers and signs in again when the server does not know it any more', async () => {
    const [wallet, browser] = [new Wallet(), new Browser()]
    const program = start(server.url, wallet, new Journal())
    await expect(program.connect()).rejects.toThrow('Unauthorized')
    await program.finish(await browser.authorize(wallet.sentTo as URL, { decision: 'github' }))
    await program.connect()
    wallet.client = { ...wallet.client, client_id: 'MfS4jXq0Dk2LwZ7a' } as NonNullable<Wallet['client']>
    wallet.held = { ...wallet.held, access_token: 'expired', token_type: 'bearer' }
    await expect(program.call('whoami')).rejects.toThrow('Unauthorized')
    expect(wallet.sentTo?.searchParams.get('client_id')).not.toBe('MfS4jXq0Dk2LwZ7a')
    await program.finish(await browser.authorize(wallet.sentTo as URL, { decision: 'github' }))
    // A session belongs to a user and a client.
    await program.connect()
    expect(await program.call('whoami')).toContain('github.1815')
    await program.close()
  })
})
