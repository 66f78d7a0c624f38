/** Runs the scenarios on all participants that support them, in turns, and reads the CPU time of each round. */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Folder } from '../folder.ts'
import { type Process, startWorkerd } from '../workerd.ts'
import { Client } from './client.ts'
import { type Entry, entryOf, type Participant } from './participants.ts'
import type { Scenario } from './scenarios.ts'

export type Measurement = {
  readonly scenario: string
  readonly server: string
  readonly revision: string
  readonly hasSessions: boolean
  /** Operations in a round. */
  readonly operations: number
  /** Microseconds of CPU for one operation, by round. */
  readonly cpu: readonly number[]
  /** Milliseconds of each operation. */
  readonly latency: { readonly p50: number; readonly p99: number }
  /** The median of the milliseconds from a request to the first byte of the body. */
  readonly firstByteMs: number
  /** Bytes of the responses to an operation on the wire, with their headers. */
  readonly bytes: number
}

/** Concurrent operations. */
export const concurrency = 16
/** Approximate milliseconds of the turns of a server in a round. The system reports CPU times in units of ten. */
const share = 500
/** The more turns in a round, the more equal the other load of the machine for all servers. */
const turnsOf = ({ operations }: Scenario) => (operations === undefined ? 5 : 1)
/** Operations until the code is compiled and optimized. */
const warmUp = { milliseconds: 1000, least: 64, most: 3000 }

/**
 * @param isEnough is asked after each round of a scenario, with what its servers have measured. `true` ends the scenario.
 *   Default: all rounds are played
 * @throws Error for a wrong response
 */
export async function compare(
  scenarios: readonly Scenario[],
  participants: readonly Participant[],
  rounds: number,
  report: (line: string) => void,
  isEnough: (measured: readonly Measurement[]) => boolean = () => false,
): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const scenario of scenarios) {
    report(scenario.key)
    const taking = participants.flatMap((participant) => {
      const entry = scenario.key in (participant.cannot ?? {}) ? undefined : entryOf(participant, scenario.lane)
      return entry ? [{ ...entry, name: participant.name }] : []
    })
    measurements.push(...(await play(scenario, taking, rounds, isEnough)))
  }
  return measurements
}

async function play(
  scenario: Scenario,
  entries: readonly (Entry & { name: string })[],
  rounds: number,
  isEnough: (measured: readonly Measurement[]) => boolean,
): Promise<Measurement[]> {
  using folder = new Folder()
  const stages: Stage[] = []
  try {
    for (const [index, { name, worker, way }] of entries.entries()) {
      const { offer, sizes } = scenario
      const workerd = await startWorkerd({ ...worker, offer, sizes }, join(folder.path, `${index}`))
      stages.push(new Stage(name, scenario, workerd, new Client(workerd.url, way, scenario.readPauseMs)))
    }
    const inTurn = async (some: readonly Stage[], work: (stage: Stage) => Promise<void>) => {
      if (scenario.isIdle) await Promise.all(some.map(work))
      else for (const stage of some) await work(stage)
    }
    await inTurn(stages, (stage) => stage.warmUp())
    const measured = () => stages.map((stage) => stage.measured())
    for (let round = 0; round < rounds && !(round > 0 && isEnough(measured())); round += 1) {
      for (const stage of stages) stage.startRound()
      // The order changes with each round, so that no server always follows the same one.
      const rotated = stages.map((_, at) => stages[(at + round) % stages.length] as Stage)
      for (let turn = 0; turn < turnsOf(scenario); turn += 1) await inTurn(rotated, (stage) => stage.playTurn())
      for (const stage of stages) stage.endRound()
    }
    return measured()
  } finally {
    for (const stage of stages) stage.leave()
  }
}

class Stage {
  readonly #name: string
  readonly #scenario: Scenario
  readonly #workerd: Process
  readonly #client: Client
  readonly #cpu: number[] = []
  readonly #latencies: number[] = []
  #operations = 0
  #number = 0
  #before = 0

  constructor(name: string, scenario: Scenario, workerd: Process, client: Client) {
    this.#name = name
    this.#scenario = scenario
    this.#workerd = workerd
    this.#client = client
  }

  /** Determines the number of operations in a round. */
  async warmUp(): Promise<void> {
    await this.#do(() => this.#client.open(this.#scenario.sessions))
    this.#operations = this.#scenario.operations ?? (await this.#operationsOfRound())
    if (this.#scenario.operations) await this.#run(this.#operations)
    this.#latencies.length = 0
    this.#client.forgetResponses()
  }

  async #operationsOfRound(): Promise<number> {
    const start = performance.now()
    // Each session runs at least one operation here, so that its initial work is not measured.
    const least = Math.max(warmUp.least, this.#scenario.sessions)
    let done = 0
    let last = { operations: 0, milliseconds: 1 }
    while (done < least || (done < warmUp.most && performance.now() - start < warmUp.milliseconds)) {
      const before = performance.now()
      await this.#run(warmUp.least)
      last = { operations: warmUp.least, milliseconds: performance.now() - before }
      done += warmUp.least
    }
    const turns = turnsOf(this.#scenario)
    const each = (last.operations / last.milliseconds) * (share / turns)
    return Math.max(concurrency * 2, Math.round(each)) * turns
  }

  /** CPU time of a server during the turns of others is its own, so a round is measured from its start to its end. */
  startRound(): void {
    this.#before = this.#workerd.cpu()
  }

  playTurn(): Promise<void> {
    return this.#run(this.#operations / turnsOf(this.#scenario))
  }

  endRound(): void {
    this.#cpu.push(((this.#workerd.cpu() - this.#before) * 1000) / this.#operations)
  }

  measured(): Measurement {
    const quantile = (values: readonly number[], share: number) =>
      values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] as number
    const { way, responses } = this.#client
    return {
      scenario: this.#scenario.key,
      server: this.#name,
      revision: way.revision,
      hasSessions: way.kind === 'session',
      operations: this.#operations,
      cpu: this.#cpu,
      latency: { p50: quantile(this.#latencies, 0.5), p99: quantile(this.#latencies, 0.99) },
      firstByteMs: quantile(responses.firstBytesMs, 0.5),
      bytes: Math.round(responses.bytes / this.#latencies.length),
    }
  }

  leave(): void {
    this.#client.close()
    this.#workerd.stop()
  }

  async #run(operations: number): Promise<void> {
    const { operations: together = concurrency, isIdle = false } = this.#scenario
    let started = 0
    const work = async (index: number) => {
      if (isIdle) await setTimeout((index * 1000) / together)
      while (started < operations) {
        started += 1
        const number = this.#number++
        const before = performance.now()
        await this.#scenario.run(this.#client, number)
        this.#latencies.push(performance.now() - before)
      }
    }
    await this.#do(() => Promise.all(Array.from({ length: together }, (_, index) => work(index))))
  }

  async #do(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (cause) {
      throw new Error(`${this.#scenario.key}: ${this.#name} gave a wrong answer`, { cause })
    }
  }
}
