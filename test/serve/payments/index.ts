/** Transfers money as `examples/confirm` does, by a bank that keeps its books. */
import { DurableObject, exports } from 'cloudflare:workers'
import { createServer, serve } from 'edgemcp'
import { sessions } from 'edgemcp/sessions'
import * as z from 'zod'

const server = createServer({ name: 'payments', version: '1.0.0' })

const Consent = z.object({ sure: z.boolean().describe('Yes, transfer it') })

for (const [name, single] of [
  ['transfer', false],
  ['transfer_once', true],
] as const) {
  server.tool(
    name,
    {
      title: 'Transfer money',
      description: 'Transfers an amount to somebody, after asking',
      inputSchema: z.object({ to: z.string(), amount: z.number().positive() }),
      annotations: { destructiveHint: true },
      singleUse: single,
    },
    async ({ to, amount }, ctx) => {
      if (!ctx.supports('elicitation')) return 'Nothing was transferred: this client cannot ask for your consent.'
      const answer = await ctx.elicit('consent', `Transfer ${amount} to ${to}?`, Consent)
      if (answer.action !== 'accept' || !answer.content.sure) return 'Nothing was transferred.'
      const receipt = await ctx.once('charge', () => charge(to, amount, crypto.randomUUID()))
      const more = await ctx.elicit(
        'thanks',
        'Done. A note for the receipt?',
        z.object({ note: z.string().optional() }),
      )
      const note = more.action === 'accept' ? more.content.note : undefined
      return `Transferred ${amount} to ${to}, receipt ${receipt}${note ? ` (${note})` : ''}.`
    },
  )
}

server.tool(
  'transfer_by_order',
  {
    title: 'Transfer money',
    description: 'Transfers an amount to somebody, after asking; the bank knows an order again',
    inputSchema: z.object({ to: z.string(), amount: z.number().positive() }),
    annotations: { destructiveHint: true },
  },
  async ({ to, amount }, ctx) => {
    if (!ctx.supports('elicitation')) return 'Nothing was transferred: this client cannot ask for your consent.'
    // Made before the first question, so every answer to it brings the same order.
    const order = await ctx.once('order', () => crypto.randomUUID())
    const answer = await ctx.elicit('consent', `Transfer ${amount} to ${to}?`, Consent)
    if (answer.action !== 'accept' || !answer.content.sure) return 'Nothing was transferred.'
    const receipt = await ctx.once('charge', () => charge(to, amount, order))
    const more = await ctx.elicit('thanks', 'Done. A note for the receipt?', z.object({ note: z.string().optional() }))
    const note = more.action === 'accept' ? more.content.note : undefined
    return `Transferred ${amount} to ${to}, receipt ${receipt}${note ? ` (${note})` : ''}.`
  },
)

/** Charges once for each order. Returns its receipt. */
const charge = (to: string, amount: number, order: string) => bank().charge(to, amount, order)

/**
 * | table     | column    | meaning                            | lifetime    |
 * |-----------|-----------|------------------------------------|-------------|
 * | `charges` | `to`      | who got it                         | the test    |
 * |           | `order`   | by whose order; no order is charged twice | the test |
 * |           | `receipt` | what the client is told            | the test    |
 */
export class Bank extends DurableObject {
  constructor(ctx: DurableObjectState, env: never) {
    super(ctx, env)
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS charges ("to" TEXT, "order" TEXT PRIMARY KEY, receipt TEXT)')
  }

  async charge(to: string, amount: number, order: string): Promise<string> {
    // Far away, and not always equally far.
    await scheduler.wait((order.charCodeAt(0) % 4) * 2)
    this.ctx.storage.sql.exec('INSERT OR IGNORE INTO charges VALUES (?, ?, ?)', to, order, crypto.randomUUID())
    const { receipt } = this.ctx.storage.sql
      .exec<{ receipt: string }>('SELECT receipt FROM charges WHERE "order" = ?', order)
      .one()
    // Charged, and nobody knows yet.
    if (amount >= 100) await scheduler.wait(100)
    return receipt
  }

  /** Whom each receipt is for. */
  receipts(): [to: string, receipt: string][] {
    return this.ctx.storage.sql
      .exec<{ to: string; receipt: string }>('SELECT "to", receipt FROM charges')
      .toArray()
      .map(({ to, receipt }) => [to, receipt])
  }
}

type Objects = { Bank: DurableObjectNamespace<Bank>; McpSession: DurableObjectNamespace<McpSession> }
const objects = exports as unknown as Objects
const bank = () => objects.Bank.getByName('bank')

// A slow machine must not turn a JSON response into an event stream.
const worker = serve(server, { limits: { streamAfterMs: 600_000 }, plugins: [sessions()] })

export class McpSession extends worker.McpSession {
  /** Whatever it is doing, it is gone. */
  lose(): void {
    this.ctx.abort('lost')
  }
}

export default {
  /** `GET /receipts` is what the bank has charged; `GET /lose?session=` loses a session's object, by its name. */
  async fetch(request: Request, env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/receipts') return Response.json(await bank().receipts())
    if (pathname !== '/lose') return worker.fetch(request, env, ctx)
    // Nobody is left to say that it is done.
    await objects.McpSession.getByName(searchParams.get('session') as string)
      .lose()
      .catch(() => {})
    return new Response(null, { status: 204 })
  },
}
