/** `fromWebhook()`: receives the webhooks of another service, and publishes events for them. */
import { readSecret, sign } from '../../../durable-objects/events/signature.ts'
import { checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import { waitAtMost } from '../../engine/wait.ts'
import type { Plugin, Runtime } from '../../plugin.ts'
import { encodeBase64url } from '../../protocol/base64url.ts'
import { readBody } from '../../protocol/bounded-body.ts'
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { McpError } from '../../protocol/errors.ts'
import { hex } from '../../protocol/hex.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { utf8 } from '../../protocol/utf8.ts'
import { isSameText } from '../../sealing/same-text.ts'
import { sha256 } from '../../sealing/sha256.ts'
import type { Event, EventRecipients } from './event.ts'

/**
 * Names who sends webhooks, and so how they are signed: `stripe`, `github`, or `standard-webhooks` for services that follow this specification.
 *
 * @see https://www.standardwebhooks.com
 */
export type WebhookProvider = 'stripe' | 'github' | 'standard-webhooks'

/** Describes a webhook whose signature is verified. */
export interface InboundWebhook {
  /** The id that the provider gives to the event. Repetitions have it, too: `id` of Stripe, `X-GitHub-Delivery`, `webhook-id`. */
  readonly id: string
  /** The type of the event, such as `invoice.paid` of Stripe or `push` of GitHub. Empty if a standard webhook has none. */
  readonly type: string
  /** The body, parsed. Its members are not validated. */
  readonly body: Readonly<Record<string, unknown>>
  /** The headers of the request. Those of GitHub are not signed. */
  readonly headers: Headers
  /** The tenant whose address the webhook was sent to; `undefined` for an endpoint without tenants. */
  readonly tenant: string | undefined
  /**
   * Publishes an event, whose id is made of the id of the webhook, the name of the event and `key`: one that a repeated webhook publishes again
   * reaches no callback URL twice. The webhook is answered after it.
   *
   * @param options `key`: see `publish()` of an event. Several events with one name need different keys
   * @throws Error as `publish()` of an event does
   */
  publish<P>(
    event: Event<P>,
    payload: P,
    recipients: EventRecipients,
    options?: { readonly key?: string },
  ): Promise<string>
}

/** Configures `fromWebhook()`. */
export type FromWebhookOptions = {
  /** Path of the URL that you give to the provider, such as `/webhooks/stripe`. */
  path: string
  /**
   * Returns the secret with which the provider signs, or several while it changes. Called for each webhook, with the tenant of the endpoint.
   * Without a secret, each webhook fails with status 500, and the log says why.
   */
  secret: (tenant: string | undefined) => Awaitable<string | readonly string[] | undefined>
  /**
   * Publishes events for a webhook; for one of a type that you do not know, return. Called again for a webhook that the provider repeats. If it
   * throws, the error is logged, and the webhook fails with status 500.
   */
  on: (webhook: InboundWebhook) => Awaitable<void>
}

const kinds: KindsOf<FromWebhookOptions> = {
  path: kind.required(kind.path),
  secret: kind.required(kind.fn),
  on: kind.required(kind.fn),
}

/**
 * Receives the webhooks of another service at a path of the Worker. Verifies the signature, and the time if it is signed, and calls `on`. The
 * response has status 200 once every event is stored, and 4xx or 5xx otherwise, after which Stripe and others repeat the webhook.
 *
 * @param provider who sends the webhooks
 * @throws Error for an invalid option, and from `serve()` if tenants differ by path, because routes have no address then
 * @see https://docs.stripe.com/webhooks#verify-manually
 * @see https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 *
 * @example
 * const opened = event('issue.opened', { payloadSchema: z.object({ title: z.string() }) })
 * const Issue = z.object({ action: z.string(), issue: z.object({ title: z.string() }) })
 * const github = fromWebhook('github', {
 *   path: '/webhooks/github',
 *   secret: () => 'the secret of the webhook',
 *   async on({ type, body, publish }) {
 *     if (type !== 'issues') return
 *     const { action, issue } = Issue.parse(body)
 *     if (action === 'opened') await publish(opened, { title: issue.title }, { everyone: true })
 *   },
 * })
 * serve(server, { auth, plugins: [events([opened]), github] })
 */
export function fromWebhook(provider: WebhookProvider, options: FromWebhookOptions): Plugin {
  checkValue('fromWebhook()', 'provider', provider, [
    (value) => Object.hasOwn(signatures, String(value)),
    'stripe, github or standard-webhooks',
  ])
  checkOptions('fromWebhook()', options, kinds)
  const { path } = options
  return {
    name: `webhooks of ${provider}`,
    routes(runtime) {
      if (runtime.paths.mcp.includes('{tenant}'))
        throw new Error(
          `The tenants of this endpoint differ by path, so "${path}" of fromWebhook() has no address: let them differ by host, or receive the webhooks with a serve() of its own`,
        )
      return [{ path, methods: ['POST'], handle: (request) => receive(provider, options, { request, runtime }) }]
    },
  }
}

async function receive(
  provider: WebhookProvider,
  { path, secret, on }: FromWebhookOptions,
  { request, runtime }: { readonly request: Request; readonly runtime: Runtime },
): Promise<Response> {
  const { tenant, identity } = runtime
  const signature = signatures[provider]
  const secrets = [await secret(tenant)].flat().filter((one) => one !== undefined)
  if (secrets.length === 0 || !secrets.every((one) => typeof one === 'string' && signature.isSecret(one)))
    throw new Error(
      `"secret" of fromWebhook('${provider}') returned no secret of this provider: set the one that it shows, as with "wrangler secret put"`,
    )
  const { headers } = request
  const text = await readText(request, runtime.limits)
  await signature.verify(headers, text, secrets)
  const body = parseBody(text, headers)
  const { id, type } = signature.describe(body, headers)
  if (typeof id !== 'string' || id === '' || typeof type !== 'string')
    throw new McpError('invalid_request', 'The webhook has no id or no type')

  const publishing: Promise<string>[] = []
  const published = new Set<string>()
  const publish: InboundWebhook['publish'] = (event, payload, recipients, { key } = {}) => {
    const result = (async () => {
      const names = [identity, path, id, event.name, key ?? null]
      const own = canonicalJson([names, recipients])
      if (published.has(own))
        throw new Error(
          `A webhook publishes "${event.name}" twice to the same recipients: pass a "key" that tells its events apart`,
        )
      published.add(own)
      const eventId = `evt_${encodeBase64url(await sha256(JSON.stringify(names)))}`
      return event.publish(payload, recipients, { id: eventId, ...(key !== undefined && { key }) })
    })()
    publishing.push(result)
    // What nothing awaits fails the webhook below.
    result.catch(() => {})
    return result
  }
  await on({ id, type, body, headers, tenant, publish })
  await Promise.all(publishing)
  return new Response(null, { status: 200 })
}

/** Reads a body as it was signed: every byte of it is in the text. @throws McpError */
async function readText(request: Request, { maxBodyBytes, bodyTimeoutMs }: Runtime['limits']): Promise<string> {
  const body = await waitAtMost(bodyTimeoutMs, readBody(request.body, maxBodyBytes)).catch(() => {
    throw new McpError('parse_error', 'The request body ended unexpectedly')
  })
  if (!body) throw new McpError('request_timeout', `The body did not arrive within ${bodyTimeoutMs} ms`)
  if (body.length > maxBodyBytes)
    throw new McpError('content_too_large', `The body is larger than ${maxBodyBytes} bytes`)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body.bytes.bytes())
  } catch {
    throw new McpError('parse_error', 'The body is not valid UTF-8')
  }
}

function parseBody(text: string, headers: Headers): Readonly<Record<string, unknown>> {
  if (headers.get('Content-Type')?.startsWith('application/x-www-form-urlencoded'))
    throw new McpError('unsupported_media_type', 'Set the content type of the webhook to application/json')
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new McpError('parse_error', 'The body is not valid JSON')
  }
  if (isObject(body) && !Array.isArray(body)) return body
  throw new McpError('invalid_request', 'The body must be a JSON object')
}

/** How a provider signs, and where its webhooks have their id and type. */
type Signature = {
  isSecret(secret: string): boolean
  /** @throws McpError for a signature of none of the secrets, and for a time that is too long ago */
  verify(headers: Headers, body: string, secrets: readonly string[]): Promise<void>
  describe(body: Readonly<Record<string, unknown>>, headers: Headers): { readonly id: unknown; readonly type: unknown }
}

/** Seconds by which the time of a signature may differ from that of the Worker. */
const toleranceSeconds = 300

const isText = (secret: string): boolean => secret.trim() !== ''

const signatures: Readonly<Record<WebhookProvider, Signature>> = {
  stripe: {
    isSecret: isText,
    async verify(headers, body, secrets) {
      const members = readHeader(headers, 'Stripe-Signature')
        .split(',')
        .map((member) => member.trim().split('='))
      const [time = ''] = members.flatMap(([name, value = '']) => (name === 't' ? value : []))
      const given = members.flatMap(([name, value = '']) => (name === 'v1' ? value : []))
      readTime(time)
      checkSignature(await hmacs(secrets, `${time}.${body}`), given)
    },
    describe: ({ id, type }) => ({ id, type }),
  },
  github: {
    isSecret: isText,
    async verify(headers, body, secrets) {
      const expected = (await hmacs(secrets, body)).map((signature) => `sha256=${signature}`)
      checkSignature(expected, [readHeader(headers, 'X-Hub-Signature-256')])
    },
    describe: (_, headers) => ({ id: headers.get('X-GitHub-Delivery'), type: headers.get('X-GitHub-Event') }),
  },
  'standard-webhooks': {
    isSecret: (secret) => readSecret(secret) !== undefined,
    async verify(headers, body, secrets) {
      const id = readHeader(headers, 'webhook-id')
      const seconds = readTime(readHeader(headers, 'webhook-timestamp'))
      const given = readHeader(headers, 'webhook-signature').split(' ')
      checkSignature((await sign(secrets, { id, seconds, body })).split(' '), given)
    },
    describe: ({ type = '' }, headers) => ({ id: headers.get('webhook-id'), type }),
  },
}

function readHeader(headers: Headers, name: string): string {
  const value = headers.get(name)
  if (value) return value
  throw new McpError('invalid_request', `The header ${name} is missing`)
}

/** Reads seconds since 1970. @throws McpError for another text, and for a time that is too far away */
function readTime(text: string): number {
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new McpError('invalid_request', 'The signature has no valid time')
  const seconds = Number(text)
  if (Math.abs(Date.now() / 1000 - seconds) <= toleranceSeconds) return seconds
  throw new McpError(
    'forbidden',
    `The time of the signature differs from that of this server by more than ${toleranceSeconds} s`,
  )
}

/** @param given signatures, one of which must match: a provider whose secret changes signs with several */
function checkSignature(expected: readonly string[], given: readonly string[]): void {
  if (!given.some((signature) => expected.some((one) => isSameText(signature, one))))
    throw new McpError('forbidden', 'The signature of the webhook does not match')
}

const hmacs = (secrets: readonly string[], text: string) => Promise.all(secrets.map((secret) => hmac(secret, text)))

async function hmac(secret: string, text: string): Promise<string> {
  const key = await crypto.subtle.importKey('raw', utf8(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return hex(new Uint8Array(await crypto.subtle.sign('HMAC', key, utf8(text))))
}
