/** A deployment that changes declarations: clients whose streams continue receive list changes. */
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { Stream } from '../serve/tenants/stream.ts'
import { type DeployableServer, startWithWrangler } from '../support/server.ts'

const root = resolve(import.meta.dirname, '../..')
const versions = { '1': 'test/subscriptions/deployed', '2': 'test/subscriptions/deployed/next' } as const

const deploy = ({ harness }: DeployableServer, version: keyof typeof versions) =>
  harness.update({ root, workers: [{ configPath: `${versions[version]}/wrangler.toml` }] })

/** A session with its GET stream. */
class SessionClient {
  /** List changes, oldest first. */
  readonly received: string[] = []
  readonly #url: URL
  readonly #headers: Record<string, string>
  #lastEventId: string | undefined
  #stream: Stream | undefined

  private constructor(url: URL, session: Record<string, string>) {
    this.#url = url
    this.#headers = {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...session,
    }
  }

  static async open(url: URL): Promise<SessionClient> {
    const starting = new SessionClient(url, {})
    const clientInfo = { name: 'test', version: '1.0.0' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const { headers } = await starting.send('initialize', params)
    const session = { 'Mcp-Session-Id': String(headers.get('Mcp-Session-Id')), 'MCP-Protocol-Version': '2025-11-25' }
    return new SessionClient(url, session)
  }

  /** Opens the stream, or continues after the last event. */
  async listen(): Promise<void> {
    const headers = { ...this.#headers, ...(this.#lastEventId && { 'Last-Event-ID': this.#lastEventId }) }
    const { promise: primed, resolve: onEvent } = Promise.withResolvers<void>()
    this.#stream = await Stream.open(this.#url, { headers }, ({ id, data }) => {
      this.#lastEventId = id ?? this.#lastEventId
      const [, list] = /notifications\/(\w+)\/list_changed/.exec(data) ?? []
      if (list) this.received.push(list)
      onEvent()
    })
    if (!this.#lastEventId) await primed
  }

  async send(method: string, params: object): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(this.#url, { method: 'POST', headers: this.#headers, body })
    expect(response.status).toBe(200)
    await response.text()
    return response
  }

  /** Waits until all earlier notifications have arrived: the last one is a change of the prompts. */
  async settle(count: number): Promise<void> {
    await this.send('tools/call', { name: 'touch' })
    await expect.poll(() => this.received.filter((list) => list === 'prompts').length).toBe(count)
  }

  async leave(): Promise<void> {
    await this.#stream?.leave()
  }
}

test('a session receives the lists that a deployment has changed, once', async () => {
  await using server = await startWithWrangler(versions['1'])
  const client = await SessionClient.open(server.url)
  await client.listen()
  await client.settle(1)
  expect(client.received).toEqual(['prompts'])
  await client.leave()
  await deploy(server, '2')
  await client.listen()
  await client.settle(2)
  // Version 1 had no resources, so this session was not offered their changes.
  expect(client.received).toEqual(['prompts', 'tools', 'prompts'])
  await client.leave()
  await deploy(server, '2')
  await client.listen()
  await client.settle(3)
  expect(client.received).toEqual(['prompts', 'tools', 'prompts', 'prompts'])
  await client.leave()
})

test('a session that has listened to nothing before a deployment receives the lists that it has changed', async () => {
  await using server = await startWithWrangler(versions['1'])
  const client = await SessionClient.open(server.url)
  // The first that the session stores.
  await client.send('logging/setLevel', { level: 'info' })
  await deploy(server, '2')
  await client.listen()
  await client.settle(1)
  expect(client.received).toEqual(['tools', 'prompts'])
  await client.leave()
})
