/** edgemcp/testing/workers: Test a Worker inside workerd, with `@cloudflare/vitest-plugin`. */
import { evictAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { type KeyRing, parseKeyRing } from '../../sealing/seal.ts'
import { type Alarmed, pass, takeOver, translate } from '../clock.ts'
import { type FakeIssuer, fakeIssuer } from '../fake-issuer.ts'
import { objectOf, type ServerUnderTest } from '../objects.ts'

type Namespaces = Readonly<Record<string, DurableObjectNamespace & { getByName(name: string): DurableObjectStub }>>

// The types of a Worker's own exports are its project's.
const worker = exports as unknown as { default: Fetcher }
const namespaces = Object.fromEntries(
  // What is no namespace is left out.
  Object.entries(exports as unknown as Namespaces).filter(
    // The runner has an object of its own.
    ([name, exported]) => isNamespace(exported) && !name.startsWith('__VITEST'),
  ), // every value is a namespace now
) as Namespaces // see isNamespace

// What shares this isolate asks it for the time, and finds its objects through it: from the first request on.
takeOver()
const objects = new Set<string>()
watchNamespaces()

/**
 * Controls the Worker of your Vitest configuration. Pass it to `connect()`, and import it in every test file that moves the clock.
 *
 * @see https://developers.cloudflare.com/workers/testing/vitest-integration/
 */
export const server: ServerUnderTest & { fetch(request: Request): Promise<Response> } = {
  fetch: (request) => worker.default.fetch(request),

  async evict(kept, { class: className, webSockets = 'hibernate' } = {}) {
    if (!kept) return evictAllDurableObjects({ webSockets })
    const object = await objectOf(kept, await keyRing(), className)
    await evictDurableObject(namespace(object.class).getByName(object.name), { webSockets }).catch(unlessAsleep)
  },

  async advance(milliseconds) {
    // Changing the storage of any object changes the clock of all objects.
    const [name] = objects
    const any = name ? stubOf(name) : (namespaces.McpSession ?? Object.values(namespaces)[0])?.getByName('keys')
    if (any) await runInDurableObject(any, (_, { storage }) => translate(storage))
    await pass(milliseconds, async () => [...objects].map(alarmed))
  },
}

/**
 * Starts a fake issuer, which answers requests of this Worker to the issuer until it is disposed.
 *
 * @param issuer the issuer in the configuration of the server
 *
 * @example
 * using issuer = await startIssuer('https://issuer.example')
 * const token = issuer.tokenFor({ sub: 'ada', scope: 'notes:read' })
 * await using client = await connect(server, { revision: '2025-11-25', token })
 */
export async function startIssuer(issuer: string): Promise<FakeIssuer & Disposable> {
  const made = await fakeIssuer(issuer)
  const real = globalThis.fetch
  const fetch: typeof real = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    return made.respond(url) ?? real(input, init)
  }
  globalThis.fetch = fetch
  return {
    ...made,
    [Symbol.dispose]() {
      if (globalThis.fetch === fetch) globalThis.fetch = real
    },
  }
}

/** Whether an export is a Durable Object namespace. An RPC stub has every property. */
function isNamespace(exported: object): boolean {
  const level = Object.getPrototypeOf(exported)
  return level !== null && (Object.hasOwn(level, 'idFromString') || isNamespace(level))
}

function namespace(className: string): Namespaces[string] {
  const candidates = namespaces[className]
  if (!candidates)
    throw new Error(`The Worker exports no Durable Object ${className}: pass the name of its class as { class }`)
  return candidates
}

async function keyRing(): Promise<KeyRing> {
  const secret = (env as { EDGEMCP_KEYS?: string }).EDGEMCP_KEYS // a secret is a text
  if (secret) return parseKeyRing(secret)
  // One of the session classes stores the key ring: the Worker minted it before it sealed anything.
  const stored = Object.values(namespaces).map((exported) =>
    runInDurableObject(exported.getByName('keys'), (instance, { storage }) =>
      // Only session classes have the method.
      'keys' in instance ? storage.kv.get<KeyRing>('keys') : undefined,
    ),
  )
  const rings = (await Promise.all(stored)).filter((ring) => ring !== undefined)
  return { current: '', keys: Object.assign({}, ...rings.map(({ keys }) => keys)) }
}

/** Records each object that is accessed: the runtime lists those of bindings only. */
function watchNamespaces(): void {
  let level: object | null = Object.values(namespaces)[0] ?? null
  for (; level; level = Object.getPrototypeOf(level)) {
    for (const method of ['get', 'getByName']) {
      if (!Object.hasOwn(level, method)) continue
      // Both methods return a stub.
      const real: (...args: unknown[]) => DurableObjectStub = Reflect.get(level, method)
      const watched = function (this: unknown, ...args: unknown[]) {
        const stub = real.apply(this, args)
        objects.add(String(stub.id))
        return stub
      }
      Reflect.set(level, method, watched)
    }
  }
}

function alarmed(id: string): Alarmed {
  const stub = () => stubOf(id)
  return {
    alarm: () => runInDurableObject(stub(), (_, { storage }) => storage.getAlarm()),
    setAlarm: (time) => runInDurableObject(stub(), (_, { storage }) => storage.setAlarm(time)),
    async ring() {
      await runDurableObjectAlarm(stub())
    },
  }
}

function stubOf(id: string): DurableObjectStub {
  for (const candidate of Object.values(namespaces)) {
    try {
      return candidate.get(candidate.idFromString(id))
    } catch {
      // It is of another class.
    }
  }
  throw new Error(`The Worker exports no class that has the object ${id}`)
}

function unlessAsleep(problem: unknown): void {
  if (!String(problem).includes('not currently running')) throw problem
}
