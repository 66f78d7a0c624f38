/** The platform of this Worker: its Durable Objects, by class and name, and its keys. */
import { env, exports } from 'cloudflare:workers'
import { objectIn, type Placement } from '../durable-objects/placement.ts'
import type { KeysRpc, RequestStateRpc } from '../durable-objects/store/rpc.ts'
import type { StateRpc } from './declarations/state.ts'
import { dialUntilAnswered } from './http/dial-until-answered.ts'
import { watched } from './plugins/development/objects.ts'
import { DeveloperError } from './protocol/errors.ts'
import { type KeyRing, parseKeyRing, type Sealer, sealer, sealerFor } from './sealing/seal.ts'

// The names and types of a Worker's exports are its project's.
const exported = exports as unknown as Record<string, DurableObjectNamespace | undefined>

function namespaceOf(className: string): DurableObjectNamespace | undefined {
  const value = exported[className]
  return value?.getByName ? value : undefined
}

/** Whether the Worker has a Durable Object class of this name. */
export const hasClass = (name: string): boolean => namespaceOf(name) !== undefined

/** Whether the Worker exports a class of this name, declared as a Durable Object or not. */
export const isExported = (name: string): boolean => exported[name] !== undefined

/** Explains how to add a missing class. */
export function declareClass(className: string): string {
  const step = `export it from the main module, and add new_sqlite_classes = ["${className}"] to wrangler.toml in a new [[migrations]]`
  return sessionClasses.has(className) ? `have sessions() in the plugins of serve(), ${step}` : step
}

/**
 * Where the Durable Objects of an endpoint are, and whether clients read what its Worker lacks. By default they do: the user of a client may be
 * the developer. With the option `handlerErrors`, only the log has it.
 */
type ObjectAccess = Placement & { readonly hidesErrors: boolean }

/** Returns the error of a Worker whose configuration is wrong: one that clients read, or one that only the log has. */
const mistake = (message: string, { hidesErrors }: ObjectAccess): Error =>
  hidesErrors ? new Error(message) : new DeveloperError(message)

/** @throws Error when this Worker has no such class */
export function object<T>(className: string, name: string, placement: ObjectAccess): T {
  const namespace = namespaceOf(className)
  if (namespace) {
    const value = objectIn<T>(namespace, name, placement)
    // Nothing of it is in a deployment: see `serve.ts`.
    if (globalThis.process?.env?.NODE_ENV === 'development') return watched(value, className, name)
    return value
  }
  throw mistake(`This Worker has no Durable Object ${className}: ${declareClass(className)}`, placement)
}

/** Names of the session classes of all endpoints in this isolate, in the order in which they were served. */
export const sessionClasses = new Set<string>()

/** The Durable Objects of one endpoint, by the default names of their classes. */
export class EndpointObjects {
  /** Exported name of the session class. */
  readonly sessionClass: string
  readonly placement: ObjectAccess
  readonly #names: Readonly<Record<string, string>>

  /** @param names exported names of classes, by their default names */
  constructor(names: Readonly<Record<string, string>>, placement: ObjectAccess) {
    this.#names = names
    this.placement = placement
    this.sessionClass = this.nameOf('McpSession')
  }

  nameOf(className: string): string {
    return this.#names[className] ?? className
  }

  /** Whether the Worker exports this class. */
  has(className: string): boolean {
    return hasClass(this.nameOf(className))
  }

  /** @throws Error when the Worker has no such class */
  object<T>(className: string, name: string): T {
    return object(this.nameOf(className), name, this.placement)
  }

  requestState(name: string): RequestStateRpc {
    return this.object('McpSession', `request-state ${name}`)
  }

  state(name: string): StateRpc {
    return this.object('McpState', name)
  }
}

/**
 * Returns the key ring that all endpoints of a Worker share. Any session class may store it: classes are added, renamed and deleted, and a
 * renamed class keeps its objects. So this function asks all of them, and the first one creates the key ring if none has it.
 *
 * @param ownClass the session class of the endpoint that asks
 * @throws Error when the Worker has no session class, or has another class under its name
 */
export async function storedKeyRing(ownClass: string, placement: ObjectAccess): Promise<KeyRing> {
  const classNames = [...sessionClasses].filter(hasClass)
  const [firstClass] = classNames
  if (firstClass === undefined) {
    // Without sessions, the secret is enough.
    throw mistake(
      `This Worker has no Durable Object ${ownClass}, which stores its keys: ${declareClass(ownClass)}, or set the secret EDGEMCP_KEYS`,
      placement,
    )
  }
  const keysOf = (className: string, mint: boolean) => askForKeys(className, mint, placement)
  const stored = await Promise.all(classNames.map((className) => keysOf(className, false)))
  const rings = stored.filter((ring) => !!ring)
  // `true`: it mints one.
  const ring = rings[0] ?? ((await keysOf(firstClass, true)) as KeyRing)
  // Several classes have one if they were once exported without each other: the first seals, all open.
  return { ...ring, keys: Object.assign({}, ring.keys, ...rings.map(({ keys }) => keys)) }
}

/** Whether an object is of a class without the method. */
const isMisnamed = (problem: unknown) => String(problem).includes('not implement')

async function askForKeys(className: string, mint: boolean, placement: ObjectAccess): Promise<KeyRing | undefined> {
  try {
    // A deployment may restart the object.
    return await dialUntilAnswered(() => object<KeysRpc>(className, 'keys', placement).keys(mint), isMisnamed, 3)
  } catch (problem) {
    if (!isMisnamed(problem)) throw problem
    throw mistake(
      `The exported class ${className} is not the McpSession of serve(): set durableObjects.names.McpSession to the name of its export`,
      placement,
    )
  }
}

/**
 * Returns a function that returns the sealer of an identity, with the keys of this Worker.
 *
 * @param minted returns the stored key ring, for a Worker without the secret
 */
export function keys(minted: () => Promise<KeyRing>): (identity: string) => Promise<Sealer> {
  let known: Sealer | undefined
  return async (identity) => {
    // Each request asks for itself until one has the keys. A promise of one request must not be shared with others: when the client of that request
    // disconnects, the promise never settles.
    known ??= sealer(secretRing() ?? (await minted()))
    return sealerFor(known, identity)
  }
}

/**
 * Returns the sealer of an identity with the keys of the secret `EDGEMCP_KEYS`; `undefined` without the secret.
 *
 * @throws Error when the secret is malformed
 */
export function secretSealer(identity: string): Sealer | undefined {
  const ring = secretRing()
  return ring && sealerFor(sealer(ring), identity)
}

function secretRing(): KeyRing | undefined {
  const secret: unknown = Reflect.get(env, 'EDGEMCP_KEYS')
  return secret ? parseKeyRing(String(secret)) : undefined
}

/**
 * Creates a value when it is first read. Not for promises: one request would share its promise with others, and it never settles if the
 * client of that request disconnects.
 */
export function once<T>(make: () => T): () => T {
  let cached: { value: T } | undefined
  return () => {
    cached ??= { value: make() }
    return cached.value
  }
}
