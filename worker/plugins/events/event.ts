/** `event()`: declares an event that clients subscribe to. */
import type { DeadLetter, EventOwnerRpc, Publication, StoredRecipients } from '../../../durable-objects/events/rpc.ts'
import type { Caller } from '../../declarations/caller.ts'
import { checkNames, checkObject, checkOptions, checkValue, type KindsOf } from '../../declarations/check-options.ts'
import type { Awaitable } from '../../declarations/context.ts'
import * as kind from '../../declarations/option-kinds.ts'
import {
  type Infer,
  type InferInput,
  isStandard,
  issuesText,
  readSchema,
  type StandardSchema,
  type Validator,
} from '../../declarations/schema.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import { utf8 } from '../../protocol/utf8.ts'

export type { DeadLetter } from '../../../durable-objects/events/rpc.ts'

// biome-ignore lint/suspicious/noExplicitAny: a schema of any input and output
type AnySchema = StandardSchema<any, any>

/** Describes an event. */
export type EventDefinition<A extends AnySchema, P extends AnySchema> = {
  /** Tells models what happens when the event is published, and when to subscribe to it. Default: none. */
  description?: string
  /** Arguments of a subscription, an object: what a client filters by. Default: none. */
  inputSchema?: A
  /** What subscribers receive: an object without a member `type`. */
  payloadSchema: P
  /**
   * OAuth scopes that a subscriber needs, all of them: when it subscribes, and before each delivery. Default: none; every authenticated caller
   * may subscribe.
   */
  scopes?: readonly string[]
  /** Decides for each caller whether the event is visible: when it lists events or subscribes, and before each delivery. Default: visible. */
  visibleTo?: (caller: Pick<Caller, 'principal'>) => Awaitable<boolean>
  /**
   * Returns whether a subscription with these arguments receives a payload: `true` or `false`, no promise. It runs for each subscription. If it
   * throws, or returns another value, the error is reported and the subscription does not receive the payload. Default: every subscription does.
   */
  matches?: (args: InferInput<A>, payload: Infer<P>) => boolean
  /**
   * Returns the URI of the resource that the event changes; `undefined`: none. Clients that have subscribed to the resource learn of the
   * change, in every protocol version, if the endpoint has `subscriptions()`. Default: the event changes no resource.
   */
  resource?: (payload: Infer<P>) => string | undefined
}

/** Selects who receives an event: one user, such as `ctx.principal`, the users of a tenant, or everyone. */
export type EventRecipients =
  | {
      /** The user. Without `tenant`, its principals without a tenant. */
      readonly user: { readonly issuer: string; readonly subject: string; readonly tenant?: string | undefined }
    }
  | {
      /** The tenant, with the issuer that names it. */
      readonly tenant: { readonly issuer: string; readonly tenant: string }
    }
  | {
      /** All subscribers. */
      readonly everyone: true
    }

/** Publishes an event to those who subscribe to it. */
export interface Event<P = unknown> {
  /** Name of the event. */
  readonly name: string
  /**
   * Publishes the event. Resolves with its id once it is stored: from then on, each subscriber receives it at least once. Subscribers
   * recognize a repetition by the id.
   *
   * @param payload the event, as `payloadSchema` validates it; its JSON has at most 262,144 bytes with name and time
   * @param recipients who receives it
   * @throws Error for a payload that does not match, and when no endpoint serves the event
   */
  publish(payload: P, recipients: EventRecipients, options?: PublishOptions): Promise<string>
  /**
   * Returns the events that did not reach subscriptions of a user, the oldest first: at most 100 of all events, of the last seven days. They
   * are deleted with their subscription.
   *
   * @throws Error for other recipients than one user
   */
  deadLetters(recipients: Extract<EventRecipients, { readonly user: object }>): Promise<readonly DeadLetter[]>
  /**
   * Sends dead letters of a user again, as if they were published now: authorized again, signed again, and before those with the same key that
   * wait. Returns how many.
   *
   * @param ids of the events. Default: all dead letters of this event
   * @throws Error for other recipients than one user
   */
  redeliver(recipients: Extract<EventRecipients, { readonly user: object }>, ids?: readonly string[]): Promise<number>
}

/** Configures `publish()` of an event. */
export type PublishOptions = {
  /** Events with the same key reach each subscription in the order in which they were published. Default: in any order. */
  readonly key?: string
  /**
   * Id of the event: 1 to 128 printable ASCII characters without spaces and dots. Of several events with one name and one id, webhooks of a user
   * receive the first, for a day. The log has all of them, with this `eventId`. Receivers may ignore an id that they have had with another name.
   * Default: a new id.
   */
  readonly id?: string
}

/** An event, as the plugin uses it. */
export type DeclaredEvent = {
  readonly name: string
  readonly description: string | undefined
  readonly input: Validator | undefined
  readonly payload: Validator
  readonly scopes: readonly string[]
  readonly visibleTo: ((caller: Pick<Caller, 'principal'>) => Awaitable<boolean>) | undefined
  /** @param args JSON @param body JSON of the event @throws any error of the function of the developer */
  matches(args: string, body: string): boolean
  /** Publishes through an endpoint from now on. @param key of several with the same key, the last one publishes */
  connect(key: string, endpoint: Endpoint): void
}

type Endpoint = {
  /** @param uri of the resource that the event changes */
  publish(publication: Publication, recipients: StoredRecipients, uri: string | undefined): Promise<void>
  /** Returns the objects of those who have subscribed. */
  owners(recipients: StoredRecipients): Promise<readonly EventOwnerRpc[]>
}

const declared = new WeakMap<object, DeclaredEvent>()

/** @throws Error for a value that `event()` did not return */
export function declaredEvent(value: unknown): DeclaredEvent {
  const found = isObject(value) ? declared.get(value) : undefined
  if (found) return found
  throw new Error('events() takes a list of events: events([event(…), …])')
}

/** Bytes of the JSON of an event. */
const maxBytes = 262_144

// biome-ignore lint/suspicious/noExplicitAny: an event of any schemas
const kinds: KindsOf<EventDefinition<any, any>> = {
  description: kind.name,
  inputSchema: kind.anything,
  payloadSchema: kind.required(kind.anything),
  scopes: kind.scopes,
  visibleTo: kind.fn,
  matches: kind.fn,
  resource: kind.fn,
}

const publishKinds: KindsOf<PublishOptions> = {
  key: kind.name,
  // Receivers sign the id, the time and the body with dots between them.
  id: [
    (value) => typeof value === 'string' && /^[!-\-/-~]{1,128}$/.test(value),
    '1 to 128 printable ASCII characters without spaces and dots',
  ],
}

/**
 * Declares an event, which `events()` serves to clients and `publish()` sends to subscribers.
 *
 * @param name 1 to 128 letters, digits, `.`, `_` and `-`
 * @throws Error at startup for an invalid name or option. The message names the fix
 * @see https://github.com/modelcontextprotocol/modelcontextprotocol/pull/3415
 *
 * @example
 * const orderPaid = event('order.paid', {
 *   description: 'An order was paid',
 *   inputSchema: z.strictObject({ shop: z.string() }),
 *   payloadSchema: z.object({ id: z.string(), shop: z.string(), total: z.number() }),
 *   matches: ({ shop }, order) => order.shop === shop,
 * })
 * await orderPaid.publish({ id: '1', shop: 'tea', total: 5 }, { everyone: true }, { key: 'order 1' })
 */
export function event<A extends AnySchema = StandardSchema<Record<never, never>>, P extends AnySchema = AnySchema>(
  name: string,
  definition: EventDefinition<A, P>,
): Event<InferInput<P>> {
  checkValue('event()', 'name', name, [
    (value) => kind.toolName.test(String(value)),
    'letters, digits, ".", "_" and "-", at most 128',
  ])
  const owner = `event "${name}"`
  checkOptions(owner, definition, kinds)
  const { description, inputSchema, payloadSchema, scopes = [], visibleTo, matches, resource } = definition
  const endpoints = new Map<string, Endpoint>()
  const payload = schemaOf(payloadSchema, `payloadSchema of ${owner}`)
  const value: Event<InferInput<P>> = {
    name,
    async publish(given, recipients, options = {}) {
      const to = readRecipients(recipients)
      checkOptions(`publish() of ${owner}`, options, publishKinds)
      const checked = await payload.check(given)
      if ('issues' in checked) throw new Error(`The payload of ${owner} is invalid: ${issuesText(checked.issues)}`)
      if (!isObject(checked.value) || 'type' in checked.value)
        throw new Error(`The payload of ${owner} must be an object without a member "type"`)
      const { id = `evt_${crypto.randomUUID()}`, key } = options
      const body = JSON.stringify({ eventId: id, name, timestamp: new Date().toISOString(), data: checked.value })
      const { byteLength } = utf8(body)
      if (byteLength > maxBytes)
        throw new Error(
          `The payload of ${owner} is too large: its event has ${byteLength} bytes of at most ${maxBytes}`,
        )
      if (endpoints.size === 0)
        throw new Error(`No endpoint serves ${owner}: pass it to events() in the plugins of serve()`)
      const publication = { id, body, ...(key !== undefined && { key }) }
      // The schema has validated the payload.
      const uri = resource?.(checked.value as Infer<P>)
      await Promise.all([...endpoints.values()].map((endpoint) => endpoint.publish(publication, to, uri)))
      return id
    },
    async deadLetters(recipients) {
      const user = readUser(recipients)
      const found = new Map<string, DeadLetter>()
      // Endpoints may share the objects.
      for (const endpoint of endpoints.values())
        for (const owner of await endpoint.owners(user))
          for (const letter of await owner.deadLetters(name)) found.set(`${letter.subscription} ${letter.id}`, letter)
      return [...found.values()]
    },
    async redeliver(recipients, ids) {
      const user = readUser(recipients)
      let count = 0
      for (const endpoint of endpoints.values())
        for (const owner of await endpoint.owners(user)) count += await owner.redeliver(name, ids)
      return count
    },
  }
  declared.set(value, {
    name,
    description,
    input: inputSchema && schemaOf(inputSchema, `inputSchema of ${owner}`),
    payload,
    scopes,
    visibleTo,
    matches(args, body) {
      if (!matches) return true
      // The schemas of the same definition have validated both.
      const isMatch: unknown = matches(JSON.parse(args), JSON.parse(body).data)
      if (typeof isMatch === 'boolean') return isMatch
      throw new Error(`matches of event "${name}" must return true or false, and no promise`)
    },
    connect: (key, endpoint) => void endpoints.set(key, endpoint),
  })
  return value
}

/** @throws Error for a schema that describes no object */
function schemaOf(schema: AnySchema, owner: string): Validator {
  if (!isStandard(schema)) throw new Error(`The ${owner} must be a schema of zod, valibot or arktype`)
  const validator = readSchema(schema, 'input', owner)
  if (validator.jsonSchema.type === 'object') return validator
  throw new Error(`The ${owner} must describe an object, as z.object({ … }) does`)
}

const recipientsText = '{ user: ctx.principal }, { tenant: { issuer, tenant } } or { everyone: true }'

/** @throws Error for other recipients than one user */
function readUser(recipients: EventRecipients): StoredRecipients {
  if (isObject(recipients) && 'user' in recipients) return readRecipients(recipients)
  throw new Error('deadLetters() and redeliver() take one user: { user: ctx.principal }')
}

/** Returns recipients as they are stored. @throws Error for other values: a wrong recipient must not become everyone */
function readRecipients(recipients: EventRecipients): StoredRecipients {
  checkObject('publish()', 'recipients', recipients, recipientsText)
  const owner = 'the recipients of publish()'
  checkNames(owner, recipients, ['user', 'tenant', 'everyone'])
  if (Object.keys(recipients).length !== 1) throw new Error(`publish() needs one kind of recipients: ${recipientsText}`)
  if ('everyone' in recipients) {
    if (recipients.everyone === true) return { everyone: true }
    throw new Error(`"everyone" of the recipients of publish() must be true: ${recipientsText}`)
  }
  if ('user' in recipients) {
    const { issuer, subject, tenant } = { ...recipients.user }
    checkValue(owner, 'user.issuer', issuer, kind.name)
    checkValue(owner, 'user.subject', subject, kind.name)
    if (tenant !== undefined) checkValue(owner, 'user.tenant', tenant, kind.name)
    return { issuer, subject, ...(tenant !== undefined && { tenant }) }
  }
  const { issuer, tenant } = { ...recipients.tenant }
  checkValue(owner, 'tenant.issuer', issuer, kind.name)
  checkValue(owner, 'tenant.tenant', tenant, kind.name)
  return { issuer, tenant }
}
