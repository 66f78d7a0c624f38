import { SELF } from 'cloudflare:test'
import { exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { bearer, oauthProvider } from 'edgemcp/auth'
import { connect, transcript } from 'edgemcp/testing'
import { startIssuer } from 'edgemcp/testing/workers'
import { expect, test } from 'vitest'
import * as z from 'zod'

// The classes of this Worker are those of its main module, so the servers here have no sessions.
const notesServer = createServer({ name: 'notes', version: '1.0.0' })
notesServer.tool('whoami', { description: 'Returns the caller', scopes: [] }, (_, { principal }) =>
  [principal?.subject, ...(principal?.scopes ?? [])].join(' '),
)
notesServer.tool('write_note', { description: 'Writes a note', scopes: ['notes:write'] }, () => 'written')
const notes = serve(notesServer, { auth: bearer({ issuer: 'https://issuer.example' }) })

const transfers = createServer({ name: 'transfers', version: '1.0.0' })
transfers.tool('transfer', { description: 'Transfers money', singleUse: true }, async (_, ctx) => {
  const { content } = await ctx.elicit('consent', 'Transfer it?', z.object({ sure: z.boolean() }))
  if (!content?.sure) return 'Nothing was transferred.'
  const receipt = await ctx.once('charge', () => crypto.randomUUID())
  await ctx.elicit('thanks', 'A note?', z.object({ note: z.string().optional() }))
  return `Transferred, receipt ${receipt}.`
})
const confirm = serve(transfers)

test('a token gives its user the scopes that it has', async () => {
  using issuer = await startIssuer('https://issuer.example')
  const ada = { token: issuer.tokenFor({ sub: 'ada', scope: 'notes:read notes:write' }) }
  const eve = { token: issuer.tokenFor({ sub: 'eve', scope: 'notes:read' }) }
  await using writer = await connect(notes, { revision: '2026-07-28', ...ada })
  await using reader = await connect(notes, { revision: '2026-07-28', ...eve })
  expect(await writer.callTool('write_note')).toMatchObject({ content: [{ text: 'written' }] })
  await expect(reader.callTool('write_note')).rejects.toMatchObject({ status: 403 })
  await expect(connect(notes, { revision: '2026-07-28' })).rejects.toMatchObject({ status: 401 })
})

test('tokens of a second issuer with the same URL are accepted', async () => {
  for (const sub of ['ada', 'eve']) {
    using issuer = await startIssuer('https://issuer.example')
    const token = issuer.tokenFor({ sub, scope: 'notes:read' })
    await using client = await connect(notes, { revision: '2026-07-28', token })
    expect(await client.callTool('whoami')).toMatchObject({ content: [{ text: `${sub} notes:read` }] })
  }
})

test('the messages of a transfer', async () => {
  const elicit = [{ action: 'accept', content: { sure: true } }, { action: 'decline' }]
  const wire = transcript()
  await using client = await connect(confirm, {
    revision: '2026-07-28',
    answers: { elicit },
    onMessage: wire.onMessage,
  })
  await client.callTool('transfer')
  expect(`${wire}`).toMatchSnapshot()
})

const behindProvider = createServer({ name: 'behind a provider', version: '1.0.0' })
behindProvider.tool('whoami', { description: 'Returns the caller' }, (_, { principal }) => JSON.stringify(principal))
const worker = serve(behindProvider, {
  auth: oauthProvider(({ userId }: { userId: string }, { scope, clientId }: { scope: string[]; clientId: string }) => ({
    issuer: 'https://mcp.example.com',
    subject: userId,
    client: clientId,
    scopes: scope,
    claims: {},
  })),
})

test('a handler behind workers-oauth-provider gets the user', async () => {
  const auth = { scope: ['notes:read'], clientId: 'desktop' }
  const ctx = { props: { userId: 'ada' }, auth, waitUntil() {}, passThroughOnException() {} }
  await using client = await connect(worker, { revision: '2026-07-28', ctx })
  const { content } = await client.callTool('whoami')
  expect(JSON.stringify(content)).toContain('ada')
  await expect(connect(worker, { revision: '2026-07-28' })).rejects.toMatchObject({ status: 401 })
})

test.each([
  ['its fetch', (request: Request) => confirm.fetch(request, {}, {} as ExecutionContext)],
  ['a Worker', confirm],
])('connect() accepts %s', async (_, target) => {
  await using client = await connect(target, { revision: '2026-07-28' })
  expect(client.initializeResult).toMatchObject({ capabilities: { tools: {} } })
})

test('connect() accepts a binding', async () => {
  const { default: worker } = exports as unknown as { default: Fetcher }
  for (const binding of [worker, SELF]) {
    await using client = await connect(binding, { revision: '2025-11-25' })
    expect(client.initializeResult).toMatchObject({ serverInfo: { name: 'report' } })
  }
})
