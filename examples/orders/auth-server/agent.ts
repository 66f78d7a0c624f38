/** An agent: it subscribes to an event, calls the tool that publishes it, and prints what it receives. */
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

export class Agent {
  readonly #url: string
  readonly #secret = `whsec_${randomBytes(32).toString('base64')}`
  readonly #received = new Set<string>()

  /** @param url the callback URL, whose requests `receive()` answers */
  constructor(url: string) {
    this.#url = url
  }

  async run(mcp: URL, token: string): Promise<void> {
    const request = async (method: string, params: object) => {
      const response = await fetch(mcp, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${token}`,
          Accept: 'application/json, text/event-stream',
          'Content-Type': 'application/json',
          'MCP-Protocol-Version': '2026-07-28',
          'Mcp-Method': method,
          ...('name' in params && { 'Mcp-Name': String(params.name) }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      })
      const { result, error } = await response.json()
      if (error) throw new Error(`${method}: ${error.message}`)
      return result
    }
    const delivery = { mode: 'webhook', url: this.#url, secret: this.#secret }
    await request('events/subscribe', { name: 'order.paid', arguments: { shop: 'tea' }, delivery })
    console.log('agent subscribed to order.paid of the shop "tea"')
    const order = { id: randomBytes(4).toString('hex'), shop: 'tea', total: 5 }
    const { content } = await request('tools/call', { name: 'pay_order', arguments: order })
    console.log(`agent called pay_order: ${content[0].text}`)
  }

  /** Returns the answer to a webhook; `undefined` refuses it. */
  receive(headers: object, body: string): object | undefined {
    const webhook = verified(this.#secret, body, headers)
    if (!webhook) return undefined
    const { type, challenge, eventId, name, data } = webhook
    // The server verifies the callback URL.
    if (type === 'verification') return { challenge }
    // Each event can arrive more than once.
    if (!this.#received.has(eventId)) console.log(`agent received ${name}: ${JSON.stringify(data)}`)
    this.#received.add(eventId)
    return {}
  }
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'agent', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

type Message = { type?: string; challenge: string; eventId: string; name: string; data: unknown }

function verified(secret: string, body: string, headers: object): Message | undefined {
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>) as Message
  } catch {
    return undefined
  }
}
