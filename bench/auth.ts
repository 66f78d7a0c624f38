/** Measures the cost of authentication: the same call on a server that verifies tokens, and on one that does not. */
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Clients } from './client.ts'
import { type Dialect, stateless } from './dialects.ts'
import { Folder } from './folder.ts'
import type { Measurement } from './measure.ts'
import { echo, type Scenario } from './scenarios.ts'
import { issuer, resource, scope } from './servers/wire.ts'
import { type Process, startWorkerd, type Worker } from './workerd.ts'

const algorithms = ['ES256', 'RS256', 'EdDSA']
/** Operations in one round. */
const operations = 3000
/** Operations until the code is compiled and optimized. */
const warmUp = 1500
/** Operations of one turn, before the next server has its turn. */
const turn = 500

const scenario: Scenario = { name: 'echo', dialects: [stateless], clients: 1, operations, ...echo }

/** A server and the tokens of its calls. */
type Row = Worker & {
  readonly name: string
  /** Returns tokens for this many calls. Absent when the server requires none. */
  tokens?(count: number): Promise<readonly string[]>
}

const open: Worker = {
  entry: 'servers/edgemcp.ts',
  objects: ['McpSession'],
  compatibilityFlags: ['enable_request_signal'],
}

/** @throws Error for a wrong response */
export async function measureAuth(rounds: number): Promise<Measurement[]> {
  using folder = new Folder()
  const stages: Stage[] = []
  try {
    for (const [index, row] of (await rows()).entries()) {
      stages.push(new Stage(row, await startWorkerd(row, join(folder.path, `${index}`))))
    }
    for (const stage of stages) await stage.run(warmUp)
    for (let round = 0; round < rounds; round += 1) {
      for (const stage of stages) stage.startRound()
      for (let done = 0; done < operations; done += turn) {
        for (const stage of stages) await stage.run(turn)
      }
      for (const stage of stages) stage.endRound()
    }
    return stages.map(({ name, cpu }) => ({ scenario: scenario.name, server: name, cpu }))
  } finally {
    for (const stage of stages) stage.leave()
  }
}

async function rows(): Promise<Row[]> {
  const guarded = await Promise.all(algorithms.map(rowsOf))
  return [
    { ...open, name: 'no tokens' },
    // A second row of the same server shows the precision: a difference between them means nothing.
    { ...open, name: 'no tokens, a second time' },
    ...guarded.flat(),
  ]
}

async function rowsOf(alg: string): Promise<Row[]> {
  const { publicKey, privateKey } = await generateKeyPair(alg)
  const bindings = {
    KEYS: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'key', alg, use: 'sig' }] }),
  }
  const sign = () =>
    new SignJWT({ client_id: 'bench', scope })
      .setProtectedHeader({ alg, kid: 'key', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(resource)
      .setSubject('ada')
      .setIssuedAt()
      .setJti(crypto.randomUUID())
      .setExpirationTime('1h')
      .sign(privateKey)
  const same = await sign()
  const server = { ...open, entry: 'servers/auth.ts', bindings }
  const many = (count: number, one: () => string | Promise<string>) => Promise.all(Array.from({ length: count }, one))
  return [
    { ...server, name: `${alg}, the same token each time`, tokens: (count) => many(count, () => same) },
    { ...server, name: `${alg}, another token each time`, tokens: (count) => many(count, sign) },
  ]
}

class Stage {
  readonly name: string
  /** Microseconds of CPU for one operation, by round. */
  readonly cpu: number[] = []
  readonly #row: Row
  readonly #workerd: Process
  readonly #clients: Clients
  #tokens: string[] = []
  #before = 0

  constructor(row: Row, workerd: Process) {
    this.name = row.name
    this.#row = row
    this.#workerd = workerd
    this.#clients = new Clients(workerd.url, row.tokens ? this.#authorized() : stateless)
  }

  async run(count: number): Promise<void> {
    // Signed before the measurement, so that no call waits for it.
    this.#tokens = [...((await this.#row.tokens?.(count)) ?? [])]
    await this.#clients.open(scenario.clients)
    await this.#clients.run(scenario, count).catch((cause) => {
      throw new Error(`${this.name} gave a wrong answer`, { cause })
    })
  }

  /** CPU time of a server during the turns of others is its own, so a round is measured from its start to its end. */
  startRound(): void {
    this.#before = this.#workerd.cpu()
  }

  endRound(): void {
    this.cpu.push(((this.#workerd.cpu() - this.#before) * 1000) / operations)
  }

  leave(): void {
    this.#clients.close()
    this.#workerd.stop()
  }

  #authorized(): Dialect {
    return {
      ...stateless,
      write: (request) => {
        const { headers, params } = stateless.write(request)
        return { headers: { ...headers, Authorization: `Bearer ${this.#tokens.pop()}` }, params }
      },
    }
  }
}
