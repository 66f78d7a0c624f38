/** The servers that schedules run, and the clients of each. */
import { identityScripts, type Script, scripts } from './clients/scripts.ts'
import { type Bundle, bundleWorker, type Load, type Replacement } from './platform/bundle.ts'

type SimulatedServer = {
  readonly main: string
  readonly scripts: Readonly<Record<string, Script>>
  /** Days after which nothing is stored any more. */
  readonly days: number
  /** The seed chooses one: the events before the first fault, at most. */
  readonly firstFaultAt: readonly number[]
}

export type BundledServer = SimulatedServer & Bundle & { readonly versions: readonly Load[] }

const sessions: SimulatedServer = {
  main: 'test/simulation/server/index.ts',
  scripts,
  days: 9,
  firstFaultAt: [60, 250],
}
const identity: SimulatedServer = {
  main: 'test/simulation/identity/index.ts',
  scripts: identityScripts,
  // The registration of a client lasts for 90 days.
  days: 130,
  // A sign-in takes some hundreds.
  firstFaultAt: [60, 250, 600],
}

export class Servers {
  readonly #replacements: readonly Replacement[]
  readonly #older: string | undefined
  readonly #bundles = new Map<SimulatedServer, Promise<BundledServer>>()

  /**
   * @param replacements planted defects
   * @param older the folder of an older edgemcp, which is deployed, too
   */
  constructor(replacements: readonly Replacement[] = [], older?: string) {
    this.#replacements = replacements
    this.#older = older
  }

  /** Returns the server of a schedule: that of the clients, or of the seed. @throws Error for clients of several servers */
  async of(seed: number, clients?: readonly string[]): Promise<BundledServer> {
    if (!clients) return this.#bundle(seed % 4 === 0 ? identity : sessions)
    const server = [sessions, identity].find((one) => clients.every((name) => Object.hasOwn(one.scripts, name)))
    if (server) return this.#bundle(server)
    const names = [sessions, identity].map((one) => Object.keys(one.scripts).join(', '))
    throw new Error(`No server has the clients ${clients.join(', ')}: choose from ${names.join(' or from ')}`)
  }

  #bundle(server: SimulatedServer): Promise<BundledServer> {
    const bundling = this.#bundles.get(server) ?? this.#bundleAll(server)
    this.#bundles.set(server, bundling)
    return bundling
  }

  async #bundleAll(server: SimulatedServer): Promise<BundledServer> {
    const bundle = await bundleWorker(server.main, this.#replacements)
    const older = this.#older === undefined ? [] : [await bundleWorker(server.main, [], this.#older)]
    return { ...server, ...bundle, versions: [...older, bundle].map(({ load }) => load) }
  }
}
